(* Certificates of the library. What this file makes of their numbers need not be trusted: the theorem
   holds for all certificates. The claim and the question are those that the verdict prints. *)
open Json

(* Whole numbers in one unit take as many bits as the finest and the greatest number need together. *)
let most_bits = 1 lsl 33
let refuse_huge (m : Model.t) bits lists =
  let count = List.fold_left (fun n list -> Array.fold_left (fun n row -> n + Array.length row) n list) (Array.length m.target) lists in
  if bits > 0 && count > most_bits / bits then refuse "numbers whose sizes differ too much: %d bits for each of %d" bits count

type claim = { least : bool; counts : Checker.counted; worth : float array; lower : float option; upper : float option; infinite : int }

let optional read what = function Null -> None | v -> Some (read what v)
let floats what v = Array.map (binary what) (list what v)

let claim (m : Model.t) v =
  let exits = m.exits.(m.start) in
  let worth = floats "exit_values" (field v "exit_values") in
  let worth = if worth = [||] then Array.make (Array.length exits) 0.0 else worth in
  if Array.length worth <> Array.length exits then refuse "exit_values: one per exit, or none";
  { least = (match field v "objective" with Str "max" -> false | Str "min" -> true | _ -> refuse "objective: max or min");
    counts = (match field v "rewards" with
      | Str "model" -> Checker.ModelRewards | Str "steps" -> Checker.Steps | Str "none" -> Checker.NoRewards
      | _ -> refuse "rewards: model, steps or none");
    worth; lower = optional binary "lower" (field v "lower"); upper = optional binary "upper" (field v "upper");
    infinite = (match field v "infinite" with
      | Null -> 0 | Str "inf" -> 1 | Str "-inf" -> -1 | _ -> refuse "infinite: inf or -inf") }

(* Kinds of evidence that the theorem does not cover. *)
let known = [ "model"; "objective"; "rewards"; "exit_values"; "lower"; "upper"; "points"; "pieces"; "steps";
  "start_points"; "start_pieces"; "reach"; "potential"; "visits"; "infinite"; "scale"; "values"; "claim"; "recurl_certificate" ]
let never_null = [ "points"; "pieces"; "steps"; "start_points"; "start_pieces"; "scale"; "recurl_certificate"; "loops"; "claim" ]
let refuse_uncovered v =
  let fields = pairs "certificate" v in
  List.iter (fun k -> if not (List.mem_assoc k fields) then refuse "a certificate without %s" k) [ "lower"; "upper" ];
  List.iter (fun k -> if List.assoc_opt k fields = Some Null then refuse "%s: null" k) never_null;
  List.iter (fun (k, x) -> if x <> Null && not (List.mem k known) && (k <> "loops" || x <> Arr [||]) then refuse "certificates with %s are not covered by the proof" k) fields;
  match field v "values" with
  | Null -> ()
  | values ->
    let bounds = [ "points"; "pieces"; "steps"; "start_points"; "start_pieces"; "reach"; "potential"; "visits" ] in
    List.iter (fun k -> match field v k with Null | Arr [||] -> () | _ -> refuse "values beside %s" k) bounds;
    if list "contexts" (field values "contexts") = [||] then refuse "certificates with values by column are not covered by the proof"

(* {2 Places}: the vertices of copies of components, and which of them runs come to. *)
type copies = {
  component : int array;
  enters : int -> int -> int;           (* copy, call port *)
  chosen : (int -> int -> int) option;  (* None: all actions *)
  roots : int -> int;                   (* entry *)
}

let visited (m : Model.t) c =
  let n = Array.length c.component in
  let offset = Array.make (n + 1) 0 in
  Array.iteri (fun i k -> offset.(i + 1) <- offset.(i) + m.first.(k + 1) - m.first.(k)) c.component;
  let place i q = offset.(i) + q - m.first.(c.component.(i)) in
  let found = Bytes.make offset.(n) '\000' and waiting = Hashtbl.create 1000 in
  let todo = Stack.create () in
  let see i q =
    let p = place i q in
    if Bytes.get found p = '\000' then (Bytes.set found p '\001'; Stack.push (i, q) todo) in
  List.iter (fun (_, e) -> see (c.roots e) e) m.starts;
  while not (Stack.is_empty todo) do
    let i, q = Stack.pop todo in
    match m.kinds.(q) with
    | Checker.State ->
      let after a = for t = m.transition_start.(a) to m.transition_start.(a + 1) - 1 do see i m.target.(t) done in
      (match c.chosen with
       | None -> for a = m.action_start.(q) to m.action_start.(q + 1) - 1 do after a done
       | Some chosen -> after (m.action_start.(q) + chosen i q))
    | Checker.Exit _ -> List.iter (fun (j, r) -> see j r) (Hashtbl.find_all waiting (place i q))
    | Checker.Call en ->
      let y = c.enters i q in
      see y en;
      Array.iteri (fun k e ->
        let p = place y e and r = m.returns.(q).(k) in
        if Bytes.get found p <> '\000' then see i r else Hashtbl.add waiting p (i, r)) m.exits.(m.component.(en))
  done;
  fun i q -> Bytes.get found (place i q) <> '\000'

let plan (c : copies) seen : Checker.plan =
  { Checker.ncopies = Array.length c.component; of_comp = (fun i -> c.component.(i)); enters = c.enters;
    chosen = (fun i q -> Option.map (fun f -> f i q) c.chosen); seen; root = c.roots }

(* {2 Families}. *)
let one i = (Z.one, [ (Z.one, i) ])
let nothing _ _ _ = Z.zero

(* Numbers of copies: by vertex of the model. *)
let table (m : Model.t) component rows = fun i q -> rows.(i).(q - m.first.(component.(i)))

(* Lists of numbers in a unit of their own. *)
let in_units lists =
  let unit = Z.shift_left Z.one (Array.fold_left (Array.fold_left Numbers.bits) 0 lists) in
  (unit, Array.map (Array.map (Numbers.scaled (Numbers.scale_of unit))) lists)

(* {2 Points and pieces}. *)
let of_bounds (m : Model.t) claim scale v =
  let nv = Array.length m.kinds and components = Array.length m.exits in
  let size c = m.first.(c + 1) - m.first.(c) in
  (* call ports, counted within their components *)
  let port = Array.make nv 0 and count = Array.make components 0 and callees = Array.make components [] in
  Array.iteri (fun q -> function
    | Checker.Call _ -> let c = m.component.(q) in
      port.(q) <- count.(c); count.(c) <- count.(c) + 1; callees.(c) <- Model.callee m q :: callees.(c)
    | _ -> ()) m.kinds;
  let callees = Array.map (fun l -> Array.of_list (List.rev l)) callees in
  let within what c = let c = nat what c in if c >= components then refuse "%s: unknown component" what else c in
  let sized what n a = if Array.length a <> n then refuse "%s: one of each per vertex" what else a in
  let by_vertex what = match floats what (match field v what with Null -> Arr [||] | x -> x) with
    | [||] -> None | x -> Some (sized what nv x) in
  (* points *)
  let given_points = list_or_none "points" (field v "points") in
  let pcomp = Array.map (fun p -> within "points" (field p "component")) given_points in
  let values = Array.mapi (fun i p -> sized "points" (size pcomp.(i)) (floats "values" (field p "values"))) given_points in
  let mix what c x =
    let parts = Array.map (fun y -> match list what y with
      | [| j; s |] ->
        let j = nat what j in
        if j >= Array.length pcomp || pcomp.(j) <> c then refuse "%s: refers to %d, which is not a point of that component" what j;
        (binary what s, j)
      | _ -> refuse "%s: a point and a weight" what) (list what x) in
    if parts = [||] then refuse "%s: an empty mix of points" what;
    let last = Array.length parts - 1 in
    let others = Array.sub parts 0 last in
    let unit = Z.shift_left Z.one (Array.fold_left (fun k (s, _) -> Numbers.bits k s) 0 others) in
    let scaled = Array.map (fun (s, j) -> (Numbers.scaled (Numbers.scale_of unit) s, j)) others in
    let rest = Array.fold_left (fun r (s, _) -> Z.sub r s) unit scaled in
    if Z.sign rest < 0 || Array.exists (fun (s, _) -> Z.sign s < 0) scaled then refuse "%s: weights of points that are no probabilities" what;
    if last = 0 then one (snd parts.(0)) else (unit, Array.to_list scaled @ [ (rest, snd parts.(last)) ]) in
  let mixes = Array.mapi (fun i p ->
    let calls = list "calls" (field p "calls") and own = callees.(pcomp.(i)) in
    if Array.length calls <> Array.length own then refuse "point %d: one mix per call port" i;
    Array.mapi (fun k x -> mix "calls" own.(k) x) calls) given_points in
  let start_points = Array.map (mix "start_points" m.start) (list_or_none "start_points" (field v "start_points")) in
  (* pieces *)
  let given_pieces = list_or_none "pieces" (field v "pieces") in
  let qcomp = Array.map (fun p -> within "pieces" (field p "component")) given_pieces in
  let of_piece i p what = sized "pieces" (size qcomp.(i)) (list what (field p what)) in
  let rewards = Array.mapi (fun i p -> Array.map (binary "rewards") (of_piece i p "rewards")) given_pieces in
  let actions = Array.mapi (fun i p -> Array.mapi (fun j a ->
    let q = m.first.(qcomp.(i)) + j in
    let count = m.action_start.(q + 1) - m.action_start.(q) in
    if count = 0 then (if abs (int "actions" a) >= 1 lsl 31 then refuse "piece %d: no such action" i else 0) else
      let a = nat "actions" a in
      if a >= count then refuse "piece %d: no action %d" i a else a) (of_piece i p "actions")) given_pieces in
  let piece what c j =
    let j = nat what j in
    if j >= Array.length qcomp || qcomp.(j) <> c then refuse "%s: refers to %d, which is not a piece of that component" what j else j in
  let calls = Array.mapi (fun i p ->
    let calls = list "calls" (field p "calls") and own = callees.(qcomp.(i)) in
    if Array.length calls <> Array.length own then refuse "piece %d: one piece per call port" i;
    Array.mapi (fun k x -> piece "calls" own.(k) x) calls) given_pieces in
  let weights = Array.mapi (fun i p ->
    let exits = Array.length m.exits.(qcomp.(i)) in
    match field p "weights" with
    | Null -> if exits = 1 then None else refuse "piece %d: weights or one exit" i
    | _ when exits = 1 -> refuse "piece %d: weights or one exit" i
    | _ -> Some (Array.map (fun row ->
        let row = floats "weights" row in
        if Array.length row <> exits then refuse "piece %d: one weight per exit" i else row) (of_piece i p "weights"))) given_pieces in
  let of_pieces what = Array.mapi (fun i p -> match field p what with
    | Null -> None | _ -> Some (Array.map (binary what) (of_piece i p what))) given_pieces in
  let piece_steps = of_pieces "steps" and piece_visits = of_pieces "visits" in
  let start_pieces = Array.map (piece "start_pieces" m.start) (list_or_none "start_pieces" (field v "start_pieces")) in
  let steps = by_vertex "steps" and potential = by_vertex "potential" and visits = by_vertex "visits" in
  let reach = match field v "reach" with
    | Null -> None
    | _ when steps = None -> refuse "reach without steps"
    | x -> Some (Array.mapi (fun q row ->
        let row = floats "reach" row in
        if Array.length row <> Array.length m.exits.(m.component.(q)) then refuse "reach: one number per vertex and exit" else row)
        (sized "reach" nv (list "reach" x))) in
  (* which sides there are *)
  let sign = if claim.least then -1 else 1 in
  let above, below = if claim.least then (claim.lower, claim.upper) else (claim.upper, claim.lower) in
  let grows = sign * claim.infinite > 0 in
  let per_entry what given = if Array.length given <> m.entries then refuse "%s: one per start entry" what in
  if above <> None then per_entry "start_points" start_points;
  if below <> None || grows || start_pieces <> [||] then per_entry "start_pieces" start_pieces;
  if claim.infinite <> 0 && (above <> None || below <> None) then refuse "an infinite optimum has no ends";
  (* one unit of rewards, worths, ends and values *)
  let k = ref 0 in
  let needs ?(shift = 0) x = k := Numbers.bits ~shift !k x in
  Array.iter (Array.iter (needs ~shift:scale)) values;
  Array.iter (Array.iter (needs ~shift:scale)) rewards;
  Option.iter (Array.iter (needs ~shift:scale)) potential;
  Array.iter needs claim.worth;
  Option.iter needs above; Option.iter needs below;
  refuse_huge m (!k + abs scale) [ values; rewards; Option.to_list potential |> Array.of_list ];
  let unit = Z.lcm (Model.reward_unit m) (Z.shift_left Z.one !k) in
  let of_unit = Numbers.scale_of unit in
  let whole x = Numbers.scaled of_unit x and units x = Numbers.scaled ~shift:scale of_unit x in
  (* every policy: a copy of each component *)
  let all = { component = Array.init components (fun c -> c); enters = (fun _ q -> Model.callee m q); chosen = None; roots = (fun _ -> m.start) } in
  let all_seen = visited m all in
  let plan_all = plan all all_seen in
  let seen_vertex q = all_seen m.component.(q) q in
  let reach_unit, reach_rows = match reach with
    | None -> (Z.one, [||]) | Some rows -> in_units rows in
  let reach_weights = if reach = None then nothing else fun _ q l -> reach_rows.(q).(l) in
  let exit_of c k = m.exits.(c).(k) in
  let steps_side = Option.map (fun d ->
    let unit, rows = in_units [| d |] in
    let d = rows.(0) in
    Array.iter (fun own ->
      let least = Array.fold_left (fun x e -> Z.min x d.(e)) (if own = [||] then Z.zero else d.(own.(0))) own in
      if Z.sign least <> 0 then refuse "not proved: steps: an exit of each component at 0") m.exits;
    let zero = Array.init components (fun c ->
      let rec go k = if k >= Array.length m.exits.(c) then 0 else if Z.sign d.(exit_of c k) = 0 then k else go (k + 1) in go 0) in
    (plan_all, (unit, { Checker.members = components; copy_at = (fun i -> i); fw = (fun _ q -> d.(q)); fe = (fun i k -> d.(exit_of i k));
      fmix = (fun _ q -> one (Model.callee m q)); begins = (fun _ -> one m.start); floored = false; weighted = reach <> None;
      fg = reach_weights; gunit = reach_unit; free_one = false; zero_exit = (fun c -> zero.(c)) }))) steps in
  (* numbers at return ports that no run comes to do not count: let them not matter *)
  let calls_of f = Array.iteri (fun q -> function Checker.Call _ -> f q m.returns.(q) m.exits.(Model.callee m q) | _ -> ()) m.kinds in
  let potential_family () = match potential with
    | None -> refuse "a potential was expected"
    | Some h ->
      let h = Array.map units h in
      calls_of (fun q back exits -> if seen_vertex q then Array.iteri (fun k r ->
        if not (seen_vertex r) then h.(r) <- h.(exits.(k))
        else if Z.lt h.(r) h.(exits.(k)) then refuse "not proved: the potential falls below an exit after a call") back);
      { Checker.members = components; copy_at = (fun i -> i); fw = (fun _ q -> h.(q)); fe = (fun i k -> h.(exit_of i k));
        fmix = (fun _ q -> one (Model.callee m q)); begins = (fun _ -> one m.start); floored = true; weighted = false;
        fg = nothing; gunit = Z.one; free_one = false; zero_exit = (fun _ -> 0) } in
  (* points *)
  let w = Array.map (Array.map units) values in
  let wp = table m pcomp w in
  let entry e = e - m.first.(m.start) in
  let floored = steps = None && above <> None && potential = None in
  let points () =
    { Checker.members = Array.length pcomp; copy_at = (fun i -> pcomp.(i)); fw = wp; fe = (fun i k -> wp i (exit_of pcomp.(i) k));
      fmix = (fun i q -> mixes.(i).(port.(q)));
      begins = (fun e -> if above = None then
          let rec first i = if pcomp.(i) = m.start then i else first (i + 1) in one (first 0)
        else start_points.(entry e));
      floored; weighted = reach <> None; fg = reach_weights; gunit = reach_unit; free_one = false; zero_exit = (fun _ -> 0) } in
  let about_all =
    if above = None && not (Array.mem m.start pcomp) then None
    else Some (Checker.ByFamily { Checker.splan = plan_all; sfam = points ();
      sreason = if steps <> None || above = None then Checker.EveryEnds
        else if potential <> None then Checker.Costs (potential_family ()) else Checker.Signs }) in
  (* pieces *)
  let own = { component = qcomp; enters = (fun i q -> calls.(i).(port.(q)));
    chosen = Some (fun i q -> actions.(i).(q - m.first.(qcomp.(i)))); roots = (fun e -> start_pieces.(entry e)) } in
  let piece_plan = lazy (let seen = visited m own in (seen, plan own seen)) in
  let weighted = Array.exists (fun x -> x <> None) weights in
  let weight_unit, weight_rows =
    let flat = Array.concat (List.filter_map Fun.id (Array.to_list weights)) in
    let unit = fst (in_units flat) in
    (unit, Array.map (Option.map (Array.map (Array.map (Numbers.scaled (Numbers.scale_of unit))))) weights) in
  let piece_weights i q l = match weight_rows.(i) with
    | None -> weight_unit | Some rows -> rows.(q - m.first.(qcomp.(i))).(l) in
  let family ?(weighted = weighted) fw = { Checker.members = Array.length qcomp; copy_at = (fun i -> i); fw; fe = (fun _ _ -> Z.zero);
    fmix = (fun i q -> one calls.(i).(port.(q))); begins = (fun e -> one start_pieces.(entry e)); floored = false; weighted;
    fg = piece_weights; gunit = (if weighted then weight_unit else Z.one); free_one = true; zero_exit = (fun _ -> 0) } in
  let costs = Array.map (Array.map (fun x -> Z.neg (units x))) rewards in
  let piece_family = family (table m qcomp costs) in
  let zeros i = Array.make (size qcomp.(i)) 0.0 in
  let about_one =
    if start_pieces = [||] then None else
      let seen, p = Lazy.force piece_plan in
      let reason () =
        if steps <> None || below = None then Checker.EveryEnds else
          let d = piece_steps in
          let uses i = let c = qcomp.(i) in
            let rec go q = q < m.first.(c + 1) && (seen i q || go (q + 1)) in go m.first.(c) in
          let ends = ref true in
          Array.iteri (fun i x -> if x = None && uses i then ends := false) d;
          if not !ends then Checker.Signs else
            let unit, rows = in_units (Array.mapi (fun i x -> Option.value x ~default:(zeros i)) d) in
            Checker.PlanEnds (unit, family (table m qcomp rows)) in
      Some (Checker.ByFamily { Checker.splan = p; sfam = piece_family; sreason = reason () }) in
  (* infinite optima *)
  let visits_family fw fmix members begins =
    { Checker.members; copy_at = (fun i -> i); fw; fe = (fun _ _ -> Z.zero); fmix; begins; floored = false; weighted = false;
      fg = nothing; gunit = Z.one; free_one = false; zero_exit = (fun _ -> 0) } in
  (* visits are negated; after a call, only ports that runs come to count *)
  let negated_visits component seen rows =
    let _, rows = in_units rows in
    let f = Array.map (Array.map Z.neg) rows in
    Array.iteri (fun i c ->
      let at q = f.(i).(q - m.first.(c)) in
      for q = m.first.(c) to m.first.(c + 1) - 1 do
        if seen i q && Z.sign (at q) > 0 then refuse "not proved: visits below 0";
        match m.kinds.(q) with
        | Checker.Call _ when seen i q ->
          let back = Array.to_list m.returns.(q) in
          let known = List.filter (seen i) back in
          let best = match known with [] -> Z.zero | r :: rs -> List.fold_left (fun b r -> Z.min b (at r)) (at r) rs in
          List.iter (fun r -> if not (seen i r) then f.(i).(r - m.first.(c)) <- best) back
        | _ -> ()
      done) component;
    table m component f in
  let endless =
    if claim.infinite = 0 then None
    else if grows then begin
      let seen, p = Lazy.force piece_plan in
      let rows = Array.mapi (fun i x -> Option.value x ~default:(zeros i)) piece_visits in
      let fw = negated_visits qcomp seen rows in
      Some (p, (visits_family fw (fun i q -> one calls.(i).(port.(q))) (Array.length qcomp) (fun e -> one start_pieces.(entry e)), piece_family))
    end else begin
      let f = match visits with None -> Array.make nv 0.0 | Some f -> f in
      let rows = Array.init components (fun c -> Array.sub f m.first.(c) (size c)) in
      let fw = negated_visits all.component all_seen rows in
      Some (plan_all, (visits_family fw (fun _ q -> one (Model.callee m q)) components (fun _ -> one m.start), potential_family ()))
    end in
  (unit, whole, { Checker.every_ends = (if claim.infinite <> 0 then None else steps_side); about_all;
    about_one = (if grows then None else about_one); endless })

(* {2 Values by state}: of the contexts of a finite process. *)
let of_values (m : Model.t) claim scale v =
  if claim.infinite <> 0 then refuse "an infinite total, and no contexts";
  let contexts = Array.map (fun x -> match list "contexts" x with
    | [| c; parent; box |] -> (int "contexts" c, int "contexts" parent, int "contexts" box)
    | _ -> refuse "contexts: a component, a context and a box") (list "contexts" (field v "contexts")) in
  let child = Hashtbl.create 16 in
  Array.iteri (fun i (c, parent, box) ->
    if i = 0 then (if (c, parent, box) <> (m.start, -1, -1) then refuse "the first context")
    else begin
      if parent < 0 || parent >= i || box < 0 || box >= Array.length m.boxes then refuse "context %d" i;
      let owner, _, _ = contexts.(parent) in
      if m.boxes.(box) <> (owner, c) || Hashtbl.mem child (parent, box) then refuse "context %d" i;
      Hashtbl.add child (parent, box) i
    end) contexts;
  let component = Array.map (fun (c, _, _) -> c) contexts in
  let n = Array.length component in
  let offset = Array.make (n + 1) 0 in
  Array.iteri (fun i c -> offset.(i + 1) <- offset.(i) + m.first.(c + 1) - m.first.(c)) component;
  let place i q = offset.(i) + q - m.first.(component.(i)) in
  let sized what n a = if Array.length a <> n then refuse "%s: a number per state" what else a in
  let numbers what = sized what offset.(n) (floats what (field v what)) in
  let lower = numbers "lower" and upper = numbers "upper" and progress = numbers "progress" in
  let vertex = Array.concat (Array.to_list (Array.map (fun c -> Array.init (m.first.(c + 1) - m.first.(c)) (fun j -> m.first.(c) + j)) component)) in
  let actions = Array.mapi (fun p a ->
    let count = m.action_start.(vertex.(p) + 1) - m.action_start.(vertex.(p)) in
    let a = nat "actions" a in
    if a >= max count 1 then refuse "values: no action %d" a else a)
    (sized "actions" offset.(n) (list "actions" (field v "actions"))) in
  let enters i q = match Hashtbl.find_opt child (i, m.box.(q)) with Some j -> j | None -> refuse "a call that enters no context" in
  let every = { component; enters; chosen = None; roots = (fun _ -> 0) } in
  let seen = visited m every in
  let own = plan { every with chosen = Some (fun i q -> actions.(place i q)) } seen in
  (* the sense of totals: 1 if nothing that runs can meet is lost, -1 if nothing is gained *)
  let losses = ref (Array.exists (fun x -> x < 0.0) claim.worth) and gains = ref (Array.exists (fun x -> x > 0.0) claim.worth) in
  let known = Array.make (Array.length m.kinds) false in
  Array.iteri (fun i c -> for q = m.first.(c) to m.first.(c + 1) - 1 do if seen i q then known.(q) <- true done) component;
  Array.iteri (fun q k -> if k && m.kinds.(q) = Checker.State then
    for a = m.action_start.(q) to m.action_start.(q + 1) - 1 do
      let paid = ref Q.zero in
      (match claim.counts with
       | Checker.ModelRewards -> for t = m.transition_start.(a) to m.transition_start.(a + 1) - 1 do
           paid := Q.add !paid (Q.mul m.prob.(t) m.reward.(t)) done
       | Checker.Steps -> paid := Q.one
       | Checker.NoRewards -> ());
      if Q.sign !paid < 0 then losses := true;
      if Q.sign !paid > 0 then gains := true
    done) known;
  let ends = !losses && !gains and sense = if !losses && not !gains then -1 else 1 in
  let never_negative what = Array.iter (fun x -> if x < 0.0 then refuse "not proved: %s: numbers that may not be negative" what) in
  never_negative "progress" progress;
  if not ends then (never_negative "lower" lower; never_negative "upper" upper);
  (* progress counts where L does, and not at the exits of the start *)
  let counts i q = seen i q && (ends || lower.(place i q) > 0.0) && (i > 0 || (match m.kinds.(q) with Checker.Exit _ -> false | _ -> true)) in
  let g = (snd (in_units [| progress |])).(0) in
  let lower_unit, own_lower = in_units [| lower |] in
  let best = ref None in
  Array.iteri (fun i c -> for q = m.first.(c) to m.first.(c + 1) - 1 do
    let p = place i q in
    if counts i q then begin
      if Z.sign g.(p) <= 0 then refuse "not proved: progress above 0";
      let l = own_lower.(0).(p) in
      match !best with
      | Some (l', g') when Z.leq (Z.mul l g') (Z.mul l' g.(p)) -> ()
      | _ -> best := Some (l, g.(p))
    end else g.(p) <- Z.zero
  done) component;
  (* the greatest L / g is the slope of H; its denominator goes into the unit *)
  let slope, over = match !best with Some (l, g) when not ends && Z.sign l > 0 -> (l, g) | _ -> (Z.zero, Z.one) in
  let k = ref 0 in
  let needs ?(shift = 0) x = k := Numbers.bits ~shift !k x in
  Array.iter (needs ~shift:scale) lower; Array.iter (needs ~shift:scale) upper;
  Array.iter needs claim.worth; Option.iter needs claim.lower; Option.iter needs claim.upper;
  refuse_huge m (!k + abs scale) [ [| lower; upper; progress |] ];
  let base = Z.lcm (Model.reward_unit m) (Z.shift_left Z.one !k) in
  let unit = Z.mul base over in
  let units x = Numbers.scaled ~shift:scale (Numbers.scale_of unit) x and whole = Numbers.scaled (Numbers.scale_of unit) in
  let by_place a = fun i q -> a.(place i q) in
  let low = Array.map units lower and high = Array.map units upper in
  (* H = slope / over * g, where slope is in the unit of L alone *)
  let steepest =
    let l = Z.mul base slope in
    Z.divexact (if scale >= 0 then Z.shift_left l scale else Z.shift_right l (- scale)) lower_unit in
  let h = Array.map (Z.mul steepest) g in
  let side sign claimed =
    if ends then
      let values = if sign > 0 then high else Array.map Z.neg low in
      Some (Checker.ByStates (own, Checker.Above (by_place values, Some (by_place g))))
    else if sign = sense then
      if claimed = None then None else Some (Checker.ByStates (own, Checker.Above (by_place high, None)))
    else Some (Checker.ByStates (own, Checker.Below (by_place low, by_place h))) in
  let all = if claim.least then -1 else 1 in
  let above, below = if claim.least then (claim.lower, claim.upper) else (claim.upper, claim.lower) in
  (unit, whole, { Checker.every_ends = None; about_all = side all above; about_one = side (- all) below; endless = None })

type verified = { claim : claim; model : Checker.model; question : Checker.question; claimed : Checker.claim; certificate : Checker.certificate }

let read (m : Model.t) v =
  refuse_uncovered v;
  if field v "recurl_certificate" <> Null && field v "recurl_certificate" <> Int 1 then refuse "a certificate of another version than 1";
  let claim = claim m v in
  (match m.fingerprint with
   | Some f when text "model" (field v "model") <> f -> refuse "the certificate is for another model than %s" m.name
   | _ -> ());
  let scale = match field v "scale" with Null -> 0 | x -> int "scale" x in
  if abs scale > 100_000 then refuse "a unit of 2^%d is beyond all numbers of models" scale;
  let unit, whole, certificate = match field v "values" with
    | Null -> of_bounds m claim scale v
    | values -> of_values m claim scale values in
  let worth = Array.map whole claim.worth in
  let claimed =
    if claim.infinite > 0 then Checker.Infinite else if claim.infinite < 0 then Checker.MinusInfinite
    else Checker.Between (Option.map whole claim.lower, Option.map whole claim.upper) in
  { claim; model = Model.exact m unit; claimed; certificate;
    question = { Checker.least = claim.least; counts = claim.counts; worth = (fun k -> worth.(k)) } }
