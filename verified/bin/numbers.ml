(* Exact numbers: binary floats of certificates, and decimals of verdicts. *)

(* A float as m * 2^e, with m odd or 0. *)
let parts x =
  if x = 0.0 then (0, 0) else begin
    let f, e = Float.frexp x in
    let m = ref (int_of_float (Float.ldexp f 53)) and e = ref (e - 53) in
    while !m land 1 = 0 do m := !m asr 1; incr e done;
    (!m, !e)
  end

(* The fraction that a float is, in lowest terms as m is odd. *)
let of_float x : Q.t =
  let m, e = parts x in
  { Q.num = Z.shift_left (Z.of_int m) (max e 0); den = Z.shift_left Z.one (max (- e) 0) }

(* The k of the coarsest unit 2^-k of numbers, each times 2^shift. *)
let bits ?(shift = 0) k x = let m, e = parts x in if m = 0 then k else max k (- e - shift)

(* How often x times 2^shift has a unit 1 / (odd * 2^twos). *)
type scale = { odd : Z.t; twos : int }
let scale_of z = let twos = Z.trailing_zeros z in { odd = Z.shift_right z twos; twos }
let scaled ?(shift = 0) s x =
  let m, e = parts x in
  if m = 0 then Z.zero else
    let m = if Z.equal s.odd Z.one then Z.of_int m else Z.mul s.odd (Z.of_int m) in
    Z.shift_left m (e + shift + s.twos)

(* A decimal with 17 digits that is at most the number (at least it, if up). *)
let digits = 17
let decimal ~up (x : Q.t) =
  if Q.sign x = 0 then "0" else begin
    let negative = Q.sign x < 0 in
    let away = up <> negative and x = Q.abs x in
    (* 10^(k - 1) <= x < 10^k *)
    let power k = Z.pow (Z.of_int 10) k in
    let times k = if k >= 0 then Q.mul x (Q.of_bigint (power k)) else Q.div x (Q.of_bigint (power (- k))) in
    let guess = int_of_float (Float.floor (float_of_int (Z.numbits (Q.num x) - Z.numbits (Q.den x)) *. 0.30103)) in
    let rec place k = if Q.geq (times (- k)) Q.one then place (k + 1) else if Q.lt (times (1 - k)) Q.one then place (k - 1) else k in
    let k = place guess in
    let y = times (digits - k) in
    let m = if away then Z.cdiv (Q.num y) (Q.den y) else Z.fdiv (Q.num y) (Q.den y) in
    let m, k = if Z.equal m (power digits) then (power (digits - 1), k + 1) else (m, k) in
    let text = Z.to_string m in
    let rec short n = if n > 1 && text.[n - 1] = '0' then short (n - 1) else n in
    let text = String.sub text 0 (short digits) in
    let n = String.length text in
    let sign = if negative then "-" else "" in
    if k > 17 || k < -4 then
      let rest = if n > 1 then "." ^ String.sub text 1 (n - 1) else "" in
      Printf.sprintf "%s%c%se%d" sign text.[0] rest (k - 1)
    else if k <= 0 then sign ^ "0." ^ String.make (- k) '0' ^ text
    else if n <= k then sign ^ text ^ String.make (k - n) '0'
    else sign ^ String.sub text 0 k ^ "." ^ String.sub text k (n - k)
  end

(* A decimal, fraction or whole number, as models write them. *)
let refuse_number what s = Json.refuse "%s: %S is not a finite decimal, integer or fraction" what s
let exact what s =
  let n = String.length s in
  if n = 0 || n > 400 then refuse_number what s
  else
    let unsigned = if s.[0] = '+' || s.[0] = '-' then String.sub s 1 (n - 1) else s in
    let all p t = t <> "" && String.for_all p t in
    let digit c = c >= '0' && c <= '9' in
    let fraction = match String.index_opt unsigned '/' with
      | Some i -> Some (String.sub unsigned 0 i, String.sub unsigned (i + 1) (String.length unsigned - i - 1))
      | None -> None in
    let sign q = if s.[0] = '-' then Q.neg q else q in
    match fraction with
    | Some (a, b) when all digit a && all digit b && not (Z.equal (Z.of_string b) Z.zero) ->
      sign (Q.make (Z.of_string a) (Z.of_string b))
    | Some _ -> refuse_number what s
    | None ->
      let body, e =
        match String.index_opt (String.lowercase_ascii unsigned) 'e' with
        | Some i ->
          let e = String.sub unsigned (i + 1) (String.length unsigned - i - 1) in
          let size = if e <> "" && (e.[0] = '-' || e.[0] = '+') then String.sub e 1 (String.length e - 1) else e in
          if not (all digit size) || String.length size > 3 then refuse_number what s
          else
            let size_ = int_of_string ("0u" ^ size) in
            (String.sub unsigned 0 i, if e.[0] = '-' then - size_ else size_)
        | None -> (unsigned, 0) in
      let whole, part = match String.index_opt body '.' with
        | Some i -> (String.sub body 0 i, String.sub body (i + 1) (String.length body - i - 1))
        | None -> (body, "") in
      let all_digits = whole ^ part in
      if not (all digit all_digits) then refuse_number what s
      else
        let m = Z.of_string all_digits and e = e - String.length part in
        let p = Z.pow (Z.of_int 10) (abs e) in
        sign (if e >= 0 then Q.of_bigint (Z.mul m p) else Q.make m p)
