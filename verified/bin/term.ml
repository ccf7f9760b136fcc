(* A certificate as a file that Coq accepts as a theorem: all numbers of the model and of the
   certificate as lists, and one computation in the place of a proof. *)
module Big = Z
open Checker

let list f l = "[" ^ String.concat "; " (List.map f l) ^ "]"
let upto n f = List.init n f
let z x = if Big.sign x < 0 then "(" ^ Big.to_string x ^ ")" else Big.to_string x
let nat i = string_of_int i ^ "%nat"
let bool b = if b then "true" else "false"
let pair f g (a, b) = Printf.sprintf "(%s, %s)" (f a) (g b)
let option f = function None -> "None" | Some x -> "(Some " ^ f x ^ ")"
let mix = pair z (list (pair z nat))

(* Functions as lists: of numbers, of copies and vertices, of copies, vertices and exits. *)
let by_number default f n item = Printf.sprintf "(at1 %s %s)" default (list item (upto n f))

let model (m : model) =
  let vertices item f default = by_number default f m.nv item in
  let components f = by_number "0%nat" f m.ncomp nat in
  let kind = function State -> "State" | Exit k -> "Exit " ^ nat k | Call en -> "Call " ^ nat en in
  let action a = Printf.sprintf "Action %s %s" (z a.tot) (list (fun t -> Printf.sprintf "Trans %s %s %s" (z t.num) (z t.rew) (nat t.tgt)) a.outs) in
  let returns q = match m.kind_of q with Call en -> upto (m.nexits (m.comp en)) (m.ret q) | _ -> [] in
  let exits c = upto (m.nexits c) (m.exit_at c) in
  String.concat "\n  " [
    "Model"; nat m.nv; nat m.ncomp; vertices kind m.kind_of "State"; vertices (list action) m.acts "[]";
    Printf.sprintf "(at2 0%%nat %s)" (list (fun q -> list nat (returns q)) (upto m.nv Fun.id));
    vertices nat m.comp "0%nat"; components m.nexits;
    Printf.sprintf "(at2 0%%nat %s)" (list (fun c -> list nat (exits c)) (upto m.ncomp Fun.id));
    components m.first; components m.size; z m.scale; nat m.start_comp; z m.start_tot; list (pair z nat) m.starts ]

(* By copy and vertex of its component; what does not exist has a default. *)
let by_place (m : model) count comp default item f =
  let rows = upto count (fun i -> upto (m.size (comp i)) (fun j -> f i (m.first (comp i) + j))) in
  Printf.sprintf "(at_place %s %s %s)" default (list (fun i -> nat (m.first (comp i))) (upto count Fun.id)) (list (list item) rows)

(* By entry of the start component. *)
let by_entry (m : model) default item f =
  let first = m.first m.start_comp in
  let known = List.map snd m.starts in
  let last = List.fold_left max first known in
  let values = upto (last - first + 1) (fun i -> if List.mem (first + i) known then item (f (first + i)) else default) in
  Printf.sprintf "(at_entry %s %s %s)" default (nat first) (list Fun.id values)

let is_call (m : model) q = match m.kind_of q with Call _ -> true | _ -> false

let plan (m : model) (p : plan) =
  String.concat "\n  " [
    "(Plan"; nat p.ncopies; by_number "0%nat" p.of_comp p.ncopies nat;
    by_place m p.ncopies p.of_comp "0%nat" nat (fun x q -> if is_call m q && p.seen x q then p.enters x q else 0);
    by_place m p.ncopies p.of_comp "None" (option nat) (fun x q -> if m.kind_of q = State then p.chosen x q else None);
    by_place m p.ncopies p.of_comp "false" bool p.seen; by_entry m "0%nat" nat p.root; ")" ]

let fam (m : model) (p : Checker.plan) f =
  let comp i = p.of_comp (f.copy_at i) in
  let weights = if not f.weighted then "(fun _ _ _ => 0)" else
    Printf.sprintf "(fun x q => at1 0 (%s x q))" (by_place m p.ncopies p.of_comp "[]" (list z) (fun x q ->
      upto (m.nexits (p.of_comp x)) (fun k -> f.fg x q k))) in
  String.concat "\n  " [
    "(Fam"; nat f.members; by_number "0%nat" f.copy_at f.members nat; by_place m f.members comp "0" z f.fw;
    Printf.sprintf "(at2 0 %s)" (list (fun i -> list z (upto (m.nexits (comp i)) (f.fe i))) (upto f.members Fun.id));
    by_place m f.members comp "(0, [])" mix (fun i q -> if is_call m q then f.fmix i q else (Big.zero, []));
    by_entry m "(0, [])" mix f.begins; bool f.floored; bool f.weighted; weights; z f.gunit; bool f.free_one;
    by_number "0%nat" f.zero_exit p.ncopies nat; ")" ]

let reason m p = function
  | EveryEnds -> "EveryEnds"
  | PlanEnds (one, f) -> Printf.sprintf "(PlanEnds %s %s)" (z one) (fam m p f)
  | Costs f -> Printf.sprintf "(Costs %s)" (fam m p f)
  | Signs -> "Signs"

let evidence m = function
  | ByFamily s -> Printf.sprintf "(ByFamily (Side %s %s %s))" (plan m s.splan) (fam m s.splan s.sfam) (reason m s.splan s.sreason)
  | ByStates (p, x) ->
    let numbers = by_place m p.ncopies p.of_comp "0" z in
    let x = match x with
      | Above (u, g) -> Printf.sprintf "(Above %s %s)" (numbers u) (option numbers g)
      | Below (l, h) -> Printf.sprintf "(Below %s %s)" (numbers l) (numbers h) in
    Printf.sprintf "(ByStates %s %s)" (plan m p) x

let certificate m c = Printf.sprintf "Certificate\n  %s\n  %s\n  %s\n  %s"
  (option (fun (p, (one, f)) -> Printf.sprintf "(%s, (%s, %s))" (plan m p) (z one) (fam m p f)) c.every_ends)
  (option (evidence m) c.about_all) (option (evidence m) c.about_one)
  (option (fun (p, (v, l)) -> Printf.sprintf "(%s, (%s, %s))" (plan m p) (fam m p v) (fam m p l)) c.endless)

let theorem ~comment (m : model) (u : question) (c : claim) (cert : certificate) =
  let counts = match u.counts with ModelRewards -> "ModelRewards" | Steps -> "Steps" | NoRewards -> "NoRewards" in
  let claim = match c with
    | Between (a, b) -> Printf.sprintf "Between %s %s" (option z a) (option z b)
    | Infinite -> "Infinite" | MinusInfinite -> "MinusInfinite" in
  Printf.sprintf {|(* %s
   Check it with: coqc -Q verified/build/theories Recurl FILE.v
   Trusted are Coq, Meaning.v, and the numbers of [m], [u] and the claim below. *)
From Coq Require Import ZArith List.
Import ListNotations.
From Recurl Require Import Meaning Runs CheckFamily Sides States Evidence Verify Statement.
Open Scope Z_scope.

Definition at1 {A} (d : A) (l : list A) (i : nat) : A := nth i l d.
Definition at2 {A} (d : A) (l : list (list A)) (i j : nat) : A := nth j (nth i l []) d.
Definition at_place {A} (d : A) (first : list nat) (l : list (list A)) (i q : nat) : A := nth (q - nth i first 0%%nat) (nth i l []) d.
Definition at_entry {A} (d : A) (first : nat) (l : list A) (e : nat) : A := nth (e - first) l d.

Definition m : model := %s.

Definition u : question := Question %s %s (at1 0 %s).

Definition evidence_of_m : certificate := %s.

Theorem proved : meaning m u (%s).
Proof. apply (verified m u _ evidence_of_m). vm_compute. reflexivity. Qed.
Print Assumptions proved.
|} comment (model m) (bool u.least) counts (list z (upto (m.nexits m.start_comp) u.worth)) (certificate m cert) claim
