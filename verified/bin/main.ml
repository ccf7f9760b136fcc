(* recurl-proved MODEL CERTIFICATE: a table file or a document of the library, and a certificate. *)
open Json

let exactly x = Numbers.decimal ~up:false (Q.of_float x)
let question ?(number = exactly) (m : Model.t) (c : Certificate.claim) =
  let best = if c.least then "least" else "greatest" in
  let worth = List.filter (fun (_, x) -> x <> 0.0) (List.combine (Array.to_list m.exit_names) (Array.to_list c.worth)) in
  match c.counts, worth with
  | Checker.NoRewards, [ (name, 1.0) ] -> Printf.sprintf "%s probability to leave by %s" best name
  | counts, worth ->
    let total = match counts with
      | Checker.NoRewards -> "expected worth of the exit reached"
      | Checker.ModelRewards -> "expected total reward"
      | Checker.Steps -> "expected number of steps" in
    let exits = String.concat ", " (List.map (fun (name, x) -> name ^ " worth " ^ number x) worth) in
    Printf.sprintf "%s %s%s" best total (if worth = [] then "" else " (exits: " ^ exits ^ ")")

let shown ~up = function None -> if up then "inf" else "-inf" | Some x -> Numbers.decimal ~up (Q.of_float x)

let ends (c : Certificate.claim) =
  if c.infinite <> 0 then let x = if c.infinite > 0 then "inf" else "-inf" in (x, x)
  else (shown ~up:false c.lower, shown ~up:true c.upper)

let starts (m : Model.t) = match m.starts with
  | [ _ ] -> "one entry" | l -> Printf.sprintf "%d entries" (List.length l)

let check (m : Model.t) reading file =
  let t0 = Sys.time () in
  let given = Json.read file in
  let t1 = Sys.time () in
  let e = Certificate.read m given in
  (match field given "claim" with
   | Null | Str "" -> ()
   | x -> let asked = question ~number:(Printf.sprintf "%g") m e.claim in
     if text "claim" x <> asked then refuse "it says that it is about the %s, not the %s" (String.escaped (text "claim" x)) asked);
  let t2 = Sys.time () in
  let proved = Checker.verify e.model e.question e.claimed e.certificate in
  let t3 = Sys.time () in
  let lower, upper = ends e.claim in
  let asked = question m e.claim in
  let model = Printf.sprintf "%s, from %s (%d vertices, %d transitions, runs begin at %s)" m.name m.form
    (Array.length m.kinds) (Array.length m.target) (starts m) in
  let lies = if lower = upper then "is " ^ lower else Printf.sprintf "lies in [%s, %s]" lower upper in
  ((if proved then 0 else 1), [ ("model", quote model); ("question", quote asked); ("lower", quote lower); ("upper", quote upper);
    ("text", quote (Printf.sprintf "%s: the %s %s\nmodel: %s" (if proved then "proved" else "not proved") asked lies model));
    ("seconds", Printf.sprintf "[%.3f, %.3f, %.3f]" (reading +. t1 -. t0) (t2 -. t1) (t3 -. t2)) ])

(* Whatever goes wrong is a verdict, too: nothing is proved. *)
let guarded work =
  let refused what = Error (2, [ ("text", quote ("refused: " ^ what)) ]) in
  try Ok (work ()) with
  | Refused what -> refused what
  | Stack_overflow -> refused "lists that are too long"
  | Out_of_memory -> refused "too little memory"
  | Invalid_argument _ | Failure _ | Not_found | Division_by_zero | Z.Overflow -> refused "a reference to something that does not exist"

let print ~json (code, facts) =
  let facts = ("verdict", quote [| "proved"; "not proved"; "refused" |].(code)) :: facts in
  if json then print_endline ("{" ^ String.concat ", " (List.map (fun (k, v) -> quote k ^ ": " ^ v) facts) ^ "}")
  else print_endline (Json.text "text" (Json.parse (List.assoc "text" facts)));
  code

(* The theorem as a file for Coq; comments must not end before their end. *)
let term model certificate =
  match guarded (fun () ->
    let m = Model.read model in
    let e = Certificate.read m (Json.read certificate) in
    let lower, upper = ends e.claim in
    let said = Printf.sprintf "%s: the %s lies in [%s, %s]" m.name (question m e.claim) lower upper in
    let plain = String.map (fun c -> if (c >= ' ' && c < '\127' && c <> '*' && c <> '"') then c else '?') said in
    Term.theorem ~comment:plain e.model e.question e.claimed e.certificate) with
  | Ok text -> print_string text; 0
  | Error e -> print ~json:true e

let usage = "usage: recurl-proved [--json | --proof-term] MODEL CERTIFICATE... (a table file or a document in JSON, and certificates)"

let () =
  (* models and certificates stay: looking for what to free takes longer than they do *)
  Gc.set { (Gc.get ()) with Gc.minor_heap_size = 1 lsl 22; space_overhead = 1000 };
  let arguments = List.tl (Array.to_list Sys.argv) in
  let json = List.mem "--json" arguments in
  match List.filter (fun a -> a <> "--json") arguments with
  | [ "--proof-term"; model; certificate ] -> exit (term model certificate)
  | model :: (_ :: _ as certificates) ->
    let t0 = Sys.time () in
    let read = guarded (fun () -> Model.read model) in
    let reading = Sys.time () -. t0 in
    let verdict file = match read with
      | Error e -> e
      | Ok m -> (match guarded (fun () -> check m reading file) with Ok v | Error v -> v) in
    exit (List.fold_left (fun worst file -> max worst (print ~json (verdict file))) 0 certificates)
  | _ -> prerr_endline usage; exit 64
