(* Models: read from a table file, or from a document of the library. This file is trusted: the
   theorem is about the model that it makes. Whether that is well-formed is checked by [verify]. *)
open Json

type t = {
  name : string;
  fingerprint : string option;
  kinds : Checker.kind array;
  component : int array;             (* of each vertex *)
  first : int array;                 (* vertex of each component, and the end *)
  exits : int array array;           (* vertices, by component *)
  returns : int array array;         (* return ports, by call port *)
  box : int array;                   (* the box of each call port, -1 for other vertices *)
  boxes : (int * int) array;         (* owner and callee of each box *)
  start : int;                       (* a component *)
  entries : int;                     (* how many it has *)
  starts : (Q.t * int) list;         (* probabilities and entries *)
  action_start : int array;          (* by vertex, and the end *)
  transition_start : int array;      (* by action, and the end *)
  target : int array;
  prob : Q.t array;
  reward : Q.t array;
  exit_names : string array;         (* of the start component *)
  form : string;                     (* what it was read from *)
}

let ints what v = Array.map (nat what) (list what v)

(* {2 Table files}: the arrays of a model, with every different number once. *)
let of_tables v =
  if field v "recurl_tables" <> Int 1 then refuse "not a table file of version 1";
  let get = field v in
  (* [rest] is what the other probabilities of an action leave *)
  let numbers = Array.map (function Str "rest" -> Q.undef | (Int _ | Num _) as x -> Numbers.of_float (binary "numbers" x) | x -> Numbers.exact "numbers" (text "numbers" x)) (list "numbers" (get "numbers")) in
  let column name = Array.map (fun i -> numbers.(i)) (ints name (get name)) in
  let array name = ints name (get name) in
  let first = array "component_start" and entries = array "n_entries" and exits = array "n_exits" in
  let kind = array "vertex_kind" and box = list "vertex_box" (get "vertex_box") and port = list "vertex_port" (get "vertex_port") in
  let callee = array "box_component" and back = array "box_return" in
  let n = Array.length kind in
  if Array.length box <> n || Array.length port <> n then refuse "a number per vertex was expected";
  let box q = nat "vertex_box" box.(q) and port q = nat "vertex_port" port.(q) in
  let kinds = Array.init n (fun q -> match kind.(q) with
    | 0 | 3 -> Checker.State
    | 1 -> Checker.Exit (port q)
    | 2 -> Checker.Call (first.(callee.(box q)) + port q)
    | k -> refuse "vertex_kind: %d is not known" k) in
  let returns = Array.init n (fun q -> if kind.(q) = 2 then Array.init exits.(callee.(box q)) (fun k -> back.(box q) + k) else [||]) in
  let start = nat "start_component" (get "start_component") in
  let prob = column "prob" and transition_start = array "transition_start" in
  Array.iteri (fun a begins -> if a + 1 < Array.length transition_start then begin
    let last = transition_start.(a + 1) - 1 in
    if last >= begins && prob.(last) == Q.undef then begin
      prob.(last) <- Q.zero;
      let others = ref Q.one in
      for t = begins to last - 1 do others := Q.sub !others prob.(t) done;
      prob.(last) <- !others
    end end) transition_start;
  let reward = column "reward" in
  if Array.exists (fun q -> Q.classify q = Q.UNDEF) prob || Array.exists (fun q -> q == Q.undef) reward then refuse "rest: of no action";
  let starts = List.mapi (fun e p -> (p, first.(start) + e)) (Array.to_list (column "start_prob")) in
  { name = text "name" (get "name"); fingerprint = Some (text "fingerprint" (get "fingerprint"));
    kinds; component = array "vertex_component"; first; returns; start; entries = entries.(start);
    exits = Array.mapi (fun c k -> Array.init k (fun i -> first.(c) + entries.(c) + i)) exits;
    box = Array.init n (fun q -> if kind.(q) = 2 then box q else -1);
    boxes = Array.map2 (fun o c -> (o, c)) (array "box_owner") callee;
    starts = List.filter (fun (p, _) -> Q.sign p <> 0) starts;
    action_start = array "action_start"; transition_start; target = array "target"; prob; reward;
    exit_names = Array.map (text "exit_names") (list "exit_names" (get "exit_names"));
    form = "a table file, to which Python translated it" }

(* {2 Documents}. Vertices are numbered as in certificates: component by component entries, exits,
   other nodes, call ports, return ports. *)
type part = {
  entries : string array; outlets : string array; boxes : (string * int) array;
  actions : (string * Json.t) list;
}

let only what known v = List.iter (fun (k, x) ->
  if not (List.mem k known) then refuse "%s: unknown key %S" what k;
  if x = Null then refuse "%s: null for %S" what k) (pairs what v)

let names what = function Str s -> [| s |] | v -> Array.map (text what) (list_or_none what v)

let of_document v =
  if field v "recurl" <> Int 1 then refuse "not a document of version 1";
  only "the document" [ "recurl"; "name"; "start"; "components"; "numbers"; "feature_names" ] v;
  if field v "name" = Str "" then refuse "name: an empty name";
  let given = Array.of_list (pairs "components" (field v "components")) in
  Array.iter (fun (name, c) -> only name [ "entries"; "exits"; "boxes"; "vertices"; "features"; "labels" ] c) given;
  if given = [||] then refuse "components: there are none";
  let index = Hashtbl.create 16 in
  Array.iteri (fun c (name, _) -> Hashtbl.add index name c) given;
  let component name = match Hashtbl.find_opt index name with Some c -> c | None -> refuse "no component %S" name in
  let parts = Array.map (fun (_, c) -> {
    entries = names "entries" (field c "entries"); outlets = names "exits" (field c "exits");
    boxes = Array.of_list (List.map (fun (b, x) -> (b, component (text "boxes" x))) (pairs "boxes" (field c "boxes")));
    actions = pairs "vertices" (field c "vertices") }) given in
  let is_binary = match field v "numbers" with
    | Null | Str "decimal" -> false | Str "binary" -> true | _ -> refuse "numbers: decimal or binary" in
  let number what x =
    let s = match x with Int i -> string_of_int i | Num s | Str s -> String.trim s | _ -> refuse "%s: a number was expected" what in
    let q = Numbers.exact what s in
    if not is_binary then q
    else if String.contains s '/' then refuse "%s: a fraction among binary numbers" what
    else Q.of_float (float_of_string s) in
  (* the numbers of vertices *)
  let vertex = Hashtbl.create 1000 and kinds = ref [] and owner = ref [] and n = ref 0 in
  let first = Array.make (Array.length parts + 1) 0 in
  let box_number = Hashtbl.create 16 and boxes = ref [] in
  Array.iteri (fun c p -> Array.iter (fun (b, callee) ->
    Hashtbl.add box_number (c, b) (Hashtbl.length box_number); boxes := (c, callee) :: !boxes) p.boxes) parts;
  let add c name kind =
    if Hashtbl.mem vertex (c, name) then refuse "two vertices %S in component %S" name (fst given.(c));
    Hashtbl.add vertex (c, name) !n; kinds := kind :: !kinds; owner := c :: !owner; incr n in
  let port b e = b ^ "." ^ e in
  Array.iteri (fun c p ->
    first.(c) <- !n;
    Array.iter (fun e -> add c e `State) p.entries;
    Array.iteri (fun k e -> add c e (`Exit k)) p.outlets;
    let back = Hashtbl.create 16 in
    Array.iter (fun (b, callee) -> Array.iter (fun e -> Hashtbl.replace back (port b e) ()) parts.(callee).outlets) p.boxes;
    List.iter (fun (q, _) -> if not (Hashtbl.mem vertex (c, q) || Hashtbl.mem back q) then begin
      if String.contains q '.' then refuse "no return port %S in component %S" q (fst given.(c));
      add c q `State end) p.actions;
    Array.iter (fun (b, callee) -> Array.iter (fun e -> add c (port b e) (`Call (callee, e, b))) parts.(callee).entries) p.boxes;
    Array.iter (fun (b, callee) -> Array.iter (fun e -> add c (port b e) `State) parts.(callee).outlets) p.boxes) parts;
  first.(Array.length parts) <- !n;
  let kinds = Array.of_list (List.rev !kinds) and owner = Array.of_list (List.rev !owner) in
  let the c name = match Hashtbl.find_opt vertex (c, name) with
    | Some q -> q | None -> refuse "no vertex %S in component %S" name (fst given.(c)) in
  (* targets may be boxes with one entry *)
  let target c name = match Hashtbl.find_opt vertex (c, name) with
    | Some q -> q
    | None -> match List.assoc_opt name (Array.to_list parts.(c).boxes) with
      | Some callee when Array.length parts.(callee).entries = 1 -> the c (port name parts.(callee).entries.(0))
      | _ -> refuse "no vertex %S in component %S" name (fst given.(c)) in
  let actions = Array.make !n [] in
  Array.iteri (fun c p -> List.iter (fun (q, own) ->
    let v = the c q in
    (match kinds.(v) with `State -> () | _ -> refuse "actions at %S, which is no node and no return port" q);
    actions.(v) <- List.map snd (pairs "actions" own)) p.actions) parts;
  let outcomes c a =
    let reward, goal = match a with
      | Str _ -> (Q.zero, a)
      | Obj l ->
        List.iter (fun (k, _) -> if k <> "reward" && k <> "to" then refuse "unknown key %S of an action" k) l;
        ((match field a "reward" with Null -> Q.zero | x -> number "reward" x), field a "to")
      | _ -> refuse "an action must be a target or an object" in
    let own x = match field x "reward" with Null -> reward | r -> number "reward" r in
    let outs = match goal with
      | Str s -> [ (Q.one, reward, target c s) ]
      | Obj l -> List.map (fun (s, x) -> match x with
          | Obj _ -> (number "p" (field x "p"), own x, target c s)
          | x -> (number "p" x, reward, target c s)) l
      | Arr l -> List.map (fun x -> (number "p" (field x "p"), own x, target c (text "target" (field x "target")))) (Array.to_list l)
      | _ -> refuse "to: a target, or probabilities, were expected" in
    let total = List.fold_left (fun s (p, _, _) -> Q.add s p) Q.zero outs in
    if Q.equal total Q.one then outs
    else if is_binary then match List.rev outs with
      | (p, r, t) :: others -> List.rev ((Q.add p (Q.sub Q.one total), r, t) :: others)
      | [] -> outs
    else refuse "probabilities that sum to %s, not exactly to 1" (Q.to_string total) in
  let action_start = Array.make (!n + 1) 0 and lengths = ref [] and all = ref [] in
  Array.iteri (fun q own ->
    action_start.(q + 1) <- action_start.(q) + List.length own;
    List.iter (fun a ->
      let outs = outcomes owner.(q) a in
      lengths := List.length outs :: !lengths;
      all := List.rev_append outs !all) own) actions;
  let lengths = Array.of_list (List.rev !lengths) and all = Array.of_list (List.rev !all) in
  let transition_start = Array.make (Array.length lengths + 1) 0 in
  Array.iteri (fun a k -> transition_start.(a + 1) <- transition_start.(a) + k) lengths;
  let begins name = match String.index_opt name '.' with
    | None -> let c = component name in
      if parts.(c).entries = [||] then refuse "start: %S has no entries" name; (c, first.(c))
    | Some i ->
      let c = component (String.sub name 0 i) and e = String.sub name (i + 1) (String.length name - i - 1) in
      if not (Array.mem e parts.(c).entries) then refuse "start: %S is no entry" name; (c, the c e) in
  let starts = match field v "start" with
    | Null -> [ (Q.one, begins (fst given.(0))) ]
    | Str s -> [ (Q.one, begins s) ]
    | Obj l -> List.map (fun (s, p) -> (number "start" p, begins s)) l
    | _ -> refuse "start: a component, an entry, or probabilities of entries" in
  let total = List.fold_left (fun s (p, _) -> Q.add s p) Q.zero starts in
  if not (Q.equal total Q.one) then refuse "start: probabilities that sum to %s, not exactly to 1" (Q.to_string total);
  let start = match starts with (_, (c, _)) :: _ -> c | [] -> refuse "start: nothing" in
  if List.exists (fun (_, (c, _)) -> c <> start) starts then refuse "start: entries of two components";
  { name = (match field v "name" with Null -> "model" | x -> text "name" x); fingerprint = None;
    kinds = Array.map (function `State -> Checker.State | `Exit k -> Checker.Exit k
      | `Call (callee, e, _) -> Checker.Call (the callee e)) kinds;
    component = owner; first; start; entries = Array.length parts.(start).entries;
    exits = Array.mapi (fun c p -> Array.map (the c) p.outlets) parts;
    returns = Array.mapi (fun q -> function
      | `Call (callee, _, b) -> Array.map (fun e -> the owner.(q) (port b e)) parts.(callee).outlets
      | _ -> [||]) kinds;
    box = Array.mapi (fun q -> function `Call (_, _, b) -> Hashtbl.find box_number (owner.(q), b) | _ -> -1) kinds;
    boxes = Array.of_list (List.rev !boxes);
    starts = List.filter (fun (p, _) -> Q.sign p <> 0) (List.map (fun (p, (_, e)) -> (p, e)) starts);
    action_start; transition_start;
    target = Array.map (fun (_, _, t) -> t) all; prob = Array.map (fun (p, _, _) -> p) all;
    reward = Array.map (fun (_, r, _) -> r) all; exit_names = parts.(start).outlets;
    form = "its document, which this program read" }

let read file =
  let v = Json.read file in
  if field v "recurl_tables" <> Null then of_tables v else of_document v

(* {2 The model of the theorem}, in units of 1 / unit. *)
let callee (m : t) q = match m.kinds.(q) with Checker.Call en -> m.component.(en) | _ -> refuse "vertex %d calls nothing" q

let over d q = Z.divexact (Z.mul (Q.num q) d) (Q.den q)
let common qs = List.fold_left (fun d q -> if Z.divisible d (Q.den q) then d else Z.lcm d (Q.den q)) Z.one qs

let reward_unit (m : t) =
  let d = ref Z.one in
  Array.iter (fun q -> if not (Z.divisible !d (Q.den q)) then d := Z.lcm !d (Q.den q)) m.reward;
  !d

let exact (m : t) unit : Checker.model =
  let n = Array.length m.kinds and components = Array.length m.exits in
  if Array.length m.component <> n || Array.length m.action_start <> n + 1 || Array.length m.first <> components + 1
     || Array.length m.reward <> Array.length m.target || Array.length m.prob <> Array.length m.target
  then refuse "arrays of a model that do not fit together";
  for c = 0 to components - 1 do if m.first.(c) > m.first.(c + 1) then refuse "component_start: numbers must ascend" done;
  let run what start i = if start.(i) > start.(i + 1) then refuse "%s: numbers must ascend" what
    else List.init (start.(i + 1) - start.(i)) (fun j -> start.(i) + j) in
  let acts = Array.init n (fun q -> List.map (fun a ->
    let ts = run "transition_start" m.transition_start a in
    let tot = common (List.map (fun t -> m.prob.(t)) ts) in
    { Checker.tot; outs = List.map (fun t ->
        { Checker.num = over tot m.prob.(t); rew = over unit m.reward.(t); tgt = m.target.(t) }) ts })
    (run "action_start" m.action_start q)) in
  let start_tot = common (List.map fst m.starts) in
  { Checker.nv = n; ncomp = components; kind_of = (fun q -> m.kinds.(q)); acts = (fun q -> acts.(q));
    ret = (fun q k -> m.returns.(q).(k)); comp = (fun q -> m.component.(q));
    nexits = (fun c -> Array.length m.exits.(c)); exit_at = (fun c k -> m.exits.(c).(k));
    first = (fun c -> m.first.(c)); size = (fun c -> m.first.(c + 1) - m.first.(c));
    scale = unit; start_comp = m.start; start_tot; starts = List.map (fun (p, e) -> (over start_tot p, e)) m.starts }
