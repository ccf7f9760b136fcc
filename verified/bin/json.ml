(* JSON texts. Numbers stay text, but for short whole ones; objects with a key twice are refused. *)
type t = Null | Bool of bool | Int of int | Num of string | Str of string | Arr of t array | Obj of (string * t) list

exception Refused of string
let refuse form = Printf.ksprintf (fun what -> raise (Refused what)) form

let deepest = 100

(* Whether a text is UTF-8: for each first byte, how many follow, and the least number they may make. *)
let is_utf8 s =
  let n = String.length s in
  let byte i = Char.code s.[i] in
  let rec from i =
    if i >= n then true
    else
      let b = byte i in
      if b < 0x80 then from (i + 1)
      else
        let more, least, bits =
          if b land 0xe0 = 0xc0 then (1, 0x80, b land 0x1f)
          else if b land 0xf0 = 0xe0 then (2, 0x800, b land 0x0f)
          else if b land 0xf8 = 0xf0 then (3, 0x10000, b land 0x07)
          else (0, max_int, 0) in
        let rec code acc j =
          if j > i + more then Some acc
          else if j < n && byte j land 0xc0 = 0x80 then code ((acc lsl 6) lor (byte j land 0x3f)) (j + 1)
          else None in
        match code bits (i + 1) with
        | Some c when c >= least && Uchar.is_valid c -> from (i + more + 1)
        | _ -> false in
  from 0

(* Position after a number of JSON's grammar that begins at b, or b if there is none. *)
let number s b =
  let n = String.length s in
  let digit i = i < n && s.[i] >= '0' && s.[i] <= '9' in
  let rec after i = if digit i then after (i + 1) else i in
  let i = if b < n && s.[b] = '-' then b + 1 else b in
  if not (digit i) then b
  else
    let i = if s.[i] = '0' then i + 1 else after i in
    let fraction = i < n && s.[i] = '.' in
    if fraction && not (digit (i + 1)) then b
    else
      let i = if fraction then after (i + 1) else i in
      if i < n && (s.[i] = 'e' || s.[i] = 'E') then
        let j = if i + 1 < n && (s.[i + 1] = '+' || s.[i + 1] = '-') then i + 2 else i + 1 in
        if digit j then after j else b
      else i

(* Whole numbers of up to 15 digits, which floats have exactly. *)
let short s b e =
  let first = if s.[b] = '-' then b + 1 else b in
  let rec from acc i =
    if i = e then Some acc
    else match s.[i] with '0' .. '9' as c -> from (10 * acc + Char.code c - 48) (i + 1) | _ -> None in
  if e - first > 15 then None
  else match from 0 first with Some x when first > b -> Some (- x) | x -> x

let parse (s : string) : t =
  let n = String.length s and i = ref 0 in
  let bad what = refuse "%s at byte %d" what !i in
  let rec space () =
    if !i < n && (match s.[!i] with ' ' | '\n' | '\t' | '\r' -> true | _ -> false) then (incr i; space ()) in
  let next c = !i < n && s.[!i] = c in
  let expect c = if next c then incr i else bad (Printf.sprintf "a %C was expected" c) in
  let word w v =
    let k = String.length w in
    if !i + k <= n && String.sub s !i k = w then (i := !i + k; v) else bad "an unknown word" in
  let hex () =
    if !i + 4 > n then bad "an open string";
    let text = String.sub s !i 4 in
    if not (String.for_all (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> true | _ -> false) text) then bad "an unknown escape";
    i := !i + 4; int_of_string ("0x" ^ text) in
  let unicode () =
    let high = hex () in
    if high >= 0xd800 && high < 0xdc00 then begin
      expect '\\'; expect 'u';
      let low = hex () in
      if low < 0xdc00 || low > 0xdfff then bad "an unknown escape";
      0x10000 + ((high - 0xd800) lsl 10) + (low - 0xdc00)
    end else if high >= 0xdc00 && high < 0xe000 then bad "an unknown escape" else high in
  let str () =
    expect '"';
    let b = Buffer.create 16 in
    let rec go () =
      if !i >= n then bad "an open string"
      else match s.[!i] with
        | '"' -> incr i
        | '\\' ->
          incr i;
          if !i >= n then bad "an open string";
          let c = s.[!i] in
          incr i;
          (match c with
           | '"' | '\\' | '/' -> Buffer.add_char b c
           | 'n' -> Buffer.add_char b '\n' | 't' -> Buffer.add_char b '\t' | 'r' -> Buffer.add_char b '\r'
           | 'b' -> Buffer.add_char b '\b' | 'f' -> Buffer.add_char b '\012'
           | 'u' -> Buffer.add_utf_8_uchar b (Uchar.of_int (unicode ()))
           | _ -> bad "an unknown escape");
          go ()
        | c when c < ' ' -> bad "a control character"
        | c -> incr i; Buffer.add_char b c; go () in
    go ();
    let text = Buffer.contents b in
    if is_utf8 text then text else bad "a text that is not UTF-8" in
  let rec value depth =
    if depth > deepest then bad "too many levels of brackets";
    space ();
    if !i >= n then bad "the end of the text" else
    match s.[!i] with
    | '{' ->
      incr i; space ();
      let known = Hashtbl.create 8 in
      let pair () =
        space ();
        let k = str () in
        if Hashtbl.mem known k then bad (Printf.sprintf "the key %S again" k);
        Hashtbl.add known k ();
        space (); expect ':';
        let v = value (depth + 1) in
        space (); (k, v) in
      if next '}' then (incr i; Obj []) else
        let rec go acc = let acc = pair () :: acc in if next ',' then (incr i; go acc) else (expect '}'; List.rev acc) in
        Obj (go [])
    | '[' ->
      incr i; space ();
      if next ']' then (incr i; Arr [||]) else
        let rec go own count =
          let own = if count < Array.length own then own else Array.append own (Array.make count Null) in
          own.(count) <- value (depth + 1);
          space ();
          if next ',' then (incr i; go own (count + 1)) else (expect ']'; Array.sub own 0 (count + 1)) in
        Arr (go (Array.make 4 Null) 0)
    | '"' -> Str (str ())
    | 't' -> word "true" (Bool true)
    | 'f' -> word "false" (Bool false)
    | 'n' -> word "null" Null
    | _ ->
      let b = !i in
      i := number s b;
      if !i = b then bad "an unexpected character"
      else match short s b !i with Some x -> Int x | None -> Num (String.sub s b (!i - b)) in
  let v = value 0 in
  space ();
  if !i < n then bad "more text" else v

let largest_file = 1 lsl 30

let read file =
  let text =
    try
      let c = open_in_bin file in
      Fun.protect ~finally:(fun () -> close_in_noerr c) (fun () ->
        let n = in_channel_length c in
        if n > largest_file then refuse "%s: larger than 1 GiB" file;
        really_input_string c n)
    with Sys_error what -> refuse "%s" what | End_of_file -> refuse "%s: not a regular file" file in
  try parse text with Refused what -> refuse "%s: %s" file what

(* Parts of objects; null is the same as nothing. *)
let field o k = match o with
  | Obj l -> (match List.assoc_opt k l with Some v -> v | None -> Null)
  | _ -> refuse "%s: an object was expected around it" k
let list what = function Arr a -> a | _ -> refuse "%s: a list was expected" what
let list_or_none what = function Null -> [||] | v -> list what v
let pairs what = function Obj l -> l | Null -> [] | _ -> refuse "%s: an object was expected" what
let text what = function Str s -> s | _ -> refuse "%s: a text was expected" what
let int what = function
  | Int i -> i
  | Num s -> (match int_of_string_opt s with
      | Some i when i > -(1 lsl 60) && i < 1 lsl 60 -> i  (* the least one has no absolute value *)
      | _ -> refuse "%s: %s is no index" what s)
  | _ -> refuse "%s: a whole number was expected" what
(* The theorem is about natural numbers; their extraction to machine integers needs them to be so. *)
let nat what v = let i = int what v in if i < 0 || i >= 1 lsl 40 then refuse "%s: %d is no index" what i else i
let binary what = function
  | Int i -> float_of_int i
  | Num s ->
    let x = float_of_string s in
    if Float.is_finite x then x else refuse "%s: %s is not finite" what s
  | _ -> refuse "%s: a number was expected" what

let quote s =
  let b = Buffer.create (String.length s + 2) in
  Buffer.add_char b '"';
  String.iter (function
    | '"' -> Buffer.add_string b "\\\"" | '\\' -> Buffer.add_string b "\\\\"
    | c when c < ' ' -> Buffer.add_string b (Printf.sprintf "\\u%04x" (Char.code c))
    | c -> Buffer.add_char b c) s;
  Buffer.add_char b '"';
  Buffer.contents b
