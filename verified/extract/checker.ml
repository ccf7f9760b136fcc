
(** val negb : bool -> bool **)

let negb = function
| true -> false
| false -> true

(** val fst : ('a1 * 'a2) -> 'a1 **)

let fst = function
| (x, _) -> x

(** val snd : ('a1 * 'a2) -> 'a2 **)

let snd = function
| (_, y) -> y

(** val length : 'a1 list -> int **)

let rec length = function
| [] -> 0
| _ :: l' -> Stdlib.Int.succ (length l')

type comparison =
| Eq
| Lt
| Gt

(** val add : int -> int -> int **)

let rec add = (+)

module Nat =
 struct
  (** val ltb : int -> int -> bool **)

  let ltb n m =
    (<=) (Stdlib.Int.succ n) m
 end

module Pos =
 struct
  (** val succ : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let rec succ = Big_int_Z.succ_big_int

  (** val add :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let rec add = Big_int_Z.add_big_int

  (** val add_carry :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  and add_carry x y =
    (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
      (fun p ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q0 ->
        (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
        (add_carry p q0))
        (fun q0 -> Big_int_Z.mult_int_big_int 2 (add_carry p q0))
        (fun _ ->
        (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
        (succ p))
        y)
      (fun p ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q0 -> Big_int_Z.mult_int_big_int 2 (add_carry p q0))
        (fun q0 ->
        (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
        (add p q0))
        (fun _ -> Big_int_Z.mult_int_big_int 2 (succ p))
        y)
      (fun _ ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q0 ->
        (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
        (succ q0))
        (fun q0 -> Big_int_Z.mult_int_big_int 2 (succ q0))
        (fun _ ->
        (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
        Big_int_Z.unit_big_int)
        y)
      x

  (** val pred_double : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let rec pred_double x =
    (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
      (fun p ->
      (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
      (Big_int_Z.mult_int_big_int 2 p))
      (fun p ->
      (fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
      (pred_double p))
      (fun _ -> Big_int_Z.unit_big_int)
      x

  (** val mul :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let rec mul = Big_int_Z.mult_big_int

  (** val compare_cont :
      comparison -> Big_int_Z.big_int -> Big_int_Z.big_int -> comparison **)

  let rec compare_cont = (fun c x y -> let s = Big_int_Z.compare_big_int x y in
  if s = 0 then c else if s < 0 then Lt else Gt)

  (** val compare : Big_int_Z.big_int -> Big_int_Z.big_int -> comparison **)

  let compare = (fun x y -> let s = Big_int_Z.compare_big_int x y in
  if s = 0 then Eq else if s < 0 then Lt else Gt)

  (** val eqb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool **)

  let rec eqb p q0 =
    (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
      (fun p0 ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q1 -> eqb p0 q1)
        (fun _ -> false)
        (fun _ -> false)
        q0)
      (fun p0 ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun _ -> false)
        (fun q1 -> eqb p0 q1)
        (fun _ -> false)
        q0)
      (fun _ ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun _ -> false)
        (fun _ -> false)
        (fun _ -> true)
        q0)
      p
 end

(** val nth : int -> 'a1 list -> 'a1 -> 'a1 **)

let rec nth n l default =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> match l with
              | [] -> default
              | x :: _ -> x)
    (fun m -> match l with
              | [] -> default
              | _ :: t -> nth m t default)
    n

(** val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list **)

let rec map f = function
| [] -> []
| a :: t -> (f a) :: (map f t)

(** val existsb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec existsb f = function
| [] -> false
| a :: l0 -> (||) (f a) (existsb f l0)

(** val forallb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec forallb f = function
| [] -> true
| a :: l0 -> (&&) (f a) (forallb f l0)

(** val seq : int -> int -> int list **)

let rec seq start len =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> [])
    (fun len0 -> start :: (seq (Stdlib.Int.succ start) len0))
    len

module Z =
 struct
  (** val double : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let double x =
    (fun fO fp fn z -> let s = Big_int_Z.sign_big_int z in
  if s = 0 then fO () else if s > 0 then fp z
  else fn (Big_int_Z.minus_big_int z))
      (fun _ -> Big_int_Z.zero_big_int)
      (fun p -> (Big_int_Z.mult_int_big_int 2 p))
      (fun p -> Big_int_Z.minus_big_int (Big_int_Z.mult_int_big_int 2 p))
      x

  (** val succ_double : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let succ_double x =
    (fun fO fp fn z -> let s = Big_int_Z.sign_big_int z in
  if s = 0 then fO () else if s > 0 then fp z
  else fn (Big_int_Z.minus_big_int z))
      (fun _ -> Big_int_Z.unit_big_int)
      (fun p ->
      ((fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x))
      p))
      (fun p -> Big_int_Z.minus_big_int (Pos.pred_double p))
      x

  (** val pred_double : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let pred_double x =
    (fun fO fp fn z -> let s = Big_int_Z.sign_big_int z in
  if s = 0 then fO () else if s > 0 then fp z
  else fn (Big_int_Z.minus_big_int z))
      (fun _ -> Big_int_Z.minus_big_int Big_int_Z.unit_big_int)
      (fun p -> (Pos.pred_double p))
      (fun p -> Big_int_Z.minus_big_int
      ((fun x -> Big_int_Z.succ_big_int (Big_int_Z.mult_int_big_int 2 x)) p))
      x

  (** val pos_sub :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let rec pos_sub x y =
    (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
      (fun p ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q0 -> double (pos_sub p q0))
        (fun q0 -> succ_double (pos_sub p q0))
        (fun _ -> (Big_int_Z.mult_int_big_int 2 p))
        y)
      (fun p ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q0 -> pred_double (pos_sub p q0))
        (fun q0 -> double (pos_sub p q0))
        (fun _ -> (Pos.pred_double p))
        y)
      (fun _ ->
      (fun f2p1 f2p f1 p ->
  if Big_int_Z.le_big_int p Big_int_Z.unit_big_int then f1 () else
  let (q,r) = Big_int_Z.quomod_big_int p (Big_int_Z.big_int_of_int 2) in
  if Big_int_Z.eq_big_int r Big_int_Z.zero_big_int then f2p q else f2p1 q)
        (fun q0 -> Big_int_Z.minus_big_int (Big_int_Z.mult_int_big_int 2
        q0))
        (fun q0 -> Big_int_Z.minus_big_int (Pos.pred_double q0))
        (fun _ -> Big_int_Z.zero_big_int)
        y)
      x

  (** val add :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let add = Big_int_Z.add_big_int

  (** val opp : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let opp = Big_int_Z.minus_big_int

  (** val sub :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let sub = Big_int_Z.sub_big_int

  (** val mul :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let mul = Big_int_Z.mult_big_int

  (** val compare : Big_int_Z.big_int -> Big_int_Z.big_int -> comparison **)

  let compare = (fun x y -> let s = Big_int_Z.compare_big_int x y in
  if s = 0 then Eq else if s < 0 then Lt else Gt)

  (** val leb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool **)

  let leb x y =
    match compare x y with
    | Gt -> false
    | _ -> true

  (** val ltb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool **)

  let ltb x y =
    match compare x y with
    | Lt -> true
    | _ -> false

  (** val eqb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool **)

  let eqb = Big_int_Z.eq_big_int

  (** val max :
      Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int **)

  let max = Big_int_Z.max_big_int

  (** val to_pos : Big_int_Z.big_int -> Big_int_Z.big_int **)

  let to_pos z0 =
    (fun fO fp fn z -> let s = Big_int_Z.sign_big_int z in
  if s = 0 then fO () else if s > 0 then fp z
  else fn (Big_int_Z.minus_big_int z))
      (fun _ -> Big_int_Z.unit_big_int)
      (fun p -> p)
      (fun _ -> Big_int_Z.unit_big_int)
      z0
 end

type q = { qnum : Big_int_Z.big_int; qden : Big_int_Z.big_int }

(** val inject_Z : Big_int_Z.big_int -> q **)

let inject_Z x =
  { qnum = x; qden = Big_int_Z.unit_big_int }

(** val qle_bool : q -> q -> bool **)

let qle_bool x y =
  Z.leb (Z.mul x.qnum y.qden) (Z.mul y.qnum x.qden)

(** val qplus : q -> q -> q **)

let qplus x y =
  { qnum = (Z.add (Z.mul x.qnum y.qden) (Z.mul y.qnum x.qden)); qden =
    (Pos.mul x.qden y.qden) }

(** val qmult : q -> q -> q **)

let qmult x y =
  { qnum = (Z.mul x.qnum y.qnum); qden = (Pos.mul x.qden y.qden) }

(** val qopp : q -> q **)

let qopp x =
  { qnum = (Z.opp x.qnum); qden = x.qden }

(** val qminus : q -> q -> q **)

let qminus x y =
  qplus x (qopp y)

(** val qsum : ('a1 -> q) -> 'a1 list -> q **)

let rec qsum f = function
| [] -> { qnum = Big_int_Z.zero_big_int; qden = Big_int_Z.unit_big_int }
| x :: l0 -> qplus (f x) (qsum f l0)

type trans = { num : Big_int_Z.big_int; rew : Big_int_Z.big_int; tgt : int }

type action = { tot : Big_int_Z.big_int; outs : trans list }

type kind =
| State
| Exit of int
| Call of int

type model = { nv : int; ncomp : int; kind_of : (int -> kind);
               acts : (int -> action list); ret : (int -> int -> int);
               comp : (int -> int); nexits : (int -> int);
               exit_at : (int -> int -> int); first : (int -> int);
               size : (int -> int); scale : Big_int_Z.big_int;
               start_comp : int; start_tot : Big_int_Z.big_int;
               starts : (Big_int_Z.big_int * int) list }

type counted =
| ModelRewards
| Steps
| NoRewards

type question = { least : bool; counts : counted;
                  worth : (int -> Big_int_Z.big_int) }

(** val no_action : action **)

let no_action =
  { tot = Big_int_Z.unit_big_int; outs = [] }

(** val act : model -> int -> int -> action **)

let act m q0 i =
  nth i (m.acts q0) no_action

type claim =
| Between of Big_int_Z.big_int option * Big_int_Z.big_int option
| Infinite
| MinusInfinite

(** val nsum : (int -> q) -> int -> q **)

let nsum f n =
  qsum f (seq 0 n)

(** val qmax : q -> q -> q **)

let qmax x y =
  if qle_bool x y then y else x

(** val qmaxn : (int -> q) -> int -> q **)

let rec qmaxn f n =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> f 0)
    (fun n0 -> qmax (qmaxn f n0) (f n0))
    n

(** val top : bool -> (int -> q) -> int -> q **)

let top floor f n =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> { qnum = Big_int_Z.zero_big_int; qden =
    Big_int_Z.unit_big_int })
    (fun _ ->
    if floor
    then qmax { qnum = Big_int_Z.zero_big_int; qden =
           Big_int_Z.unit_big_int } (qmaxn f n)
    else qmaxn f n)
    n

(** val rise : bool -> (int -> q) -> (int -> q) -> int -> q **)

let rise b gs t n =
  qminus (top b t n)
    (nsum (fun k -> qmult (gs k) (qminus (top b t n) (t k))) n)

(** val zsum : ('a1 -> Big_int_Z.big_int) -> 'a1 list -> Big_int_Z.big_int **)

let rec zsum f = function
| [] -> Big_int_Z.zero_big_int
| x :: l0 -> Z.add (f x) (zsum f l0)

(** val nzsum : (int -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int **)

let rec nzsum f n =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> Big_int_Z.zero_big_int)
    (fun n0 -> Z.add (nzsum f n0) (f n0))
    n

(** val zmaxn : (int -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int **)

let rec zmaxn f n =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> f 0)
    (fun n0 ->
    (fun fO fS n -> if n=0 then fO () else fS (n-1))
      (fun _ -> f 0)
      (fun _ -> Z.max (zmaxn f n0) (f n0))
      n0)
    n

(** val ztop :
    bool -> (int -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int **)

let ztop floor f n =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> Big_int_Z.zero_big_int)
    (fun _ ->
    if floor then Z.max Big_int_Z.zero_big_int (zmaxn f n) else zmaxn f n)
    n

(** val zrise :
    bool -> bool -> Big_int_Z.big_int -> (int -> Big_int_Z.big_int) -> (int
    -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int **)

let zrise floor weighted0 u gs t n =
  let x = ztop floor t n in
  if weighted0
  then Z.sub (Z.mul u x) (nzsum (fun k -> Z.mul (gs k) (Z.sub x (t k))) n)
  else Z.mul u x

(** val all_below : int -> (int -> bool) -> bool **)

let rec all_below n f =
  (fun fO fS n -> if n=0 then fO () else fS (n-1))
    (fun _ -> true)
    (fun n0 -> if f n0 then all_below n0 f else false)
    n

type plan = { ncopies : int; of_comp : (int -> int);
              enters : (int -> int -> int);
              chosen : (int -> int -> int option);
              seen : (int -> int -> bool); root : (int -> int) }

(** val excess : ('a1 -> int -> q) -> 'a1 -> (int -> q) -> int -> q **)

let excess e x v0 k =
  qminus (v0 k) (e x k)

(** val v :
    model -> ('a1 -> int -> q) -> ('a1 -> int -> q) -> ('a1 -> int) -> (int
    -> int -> int -> q) -> bool -> 'a1 -> (int -> q) -> int -> q **)

let v m w e its g floor x v0 q0 =
  qplus (w x q0)
    (rise floor (g (its x) q0) (excess e x v0) (m.nexits (m.comp q0)))

(** val is_state : kind -> bool **)

let is_state = function
| State -> true
| _ -> false

(** val over_comp : model -> int -> (int -> bool) -> bool **)

let over_comp m c f =
  all_below (m.size c) (fun j ->
    let q0 = add (m.first c) j in (||) (negb ((=) (m.comp q0) c)) (f q0))

(** val each_action :
    model -> plan -> int -> int -> (action -> bool) -> bool **)

let each_action m p x q0 f =
  match p.chosen x q0 with
  | Some j -> (&&) (Nat.ltb j (length (m.acts q0))) (f (act m q0 j))
  | None -> forallb f (m.acts q0)

(** val check_action : model -> int -> action -> bool **)

let check_action m c a =
  (&&)
    ((&&) (Z.ltb Big_int_Z.zero_big_int a.tot)
      (Z.eqb (zsum (fun t -> t.num) a.outs) a.tot))
    (forallb (fun t ->
      (&&) ((&&) (Z.leb Big_int_Z.zero_big_int t.num) (Nat.ltb t.tgt m.nv))
        ((=) (m.comp t.tgt) c)) a.outs)

(** val check_vertex : model -> int -> bool **)

let check_vertex m q0 =
  let c = m.comp q0 in
  (&&)
    ((&&)
      ((&&) ((&&) (Nat.ltb c m.ncomp) ((<=) (m.first c) q0))
        (Nat.ltb q0 (add (m.first c) (m.size c))))
      (forallb (check_action m c) (m.acts q0)))
    (match m.kind_of q0 with
     | State -> (match m.acts q0 with
                 | [] -> false
                 | _ :: _ -> true)
     | Exit k -> (&&) (Nat.ltb k (m.nexits c)) ((=) (m.exit_at c k) q0)
     | Call en ->
       (&&) ((&&) (Nat.ltb en m.nv) (is_state (m.kind_of en)))
         (all_below (m.nexits (m.comp en)) (fun k ->
           (&&)
             ((&&) (Nat.ltb (m.ret q0 k) m.nv)
               (is_state (m.kind_of (m.ret q0 k))))
             ((=) (m.comp (m.ret q0 k)) c))))

(** val check_start : model -> (Big_int_Z.big_int * int) -> bool **)

let check_start m we =
  (&&)
    ((&&)
      ((&&) (Z.leb Big_int_Z.zero_big_int (fst we)) (Nat.ltb (snd we) m.nv))
      (is_state (m.kind_of (snd we)))) ((=) (m.comp (snd we)) m.start_comp)

(** val check_model : model -> bool **)

let check_model m =
  (&&)
    ((&&)
      ((&&)
        ((&&) (Z.ltb Big_int_Z.zero_big_int m.scale)
          (Z.ltb Big_int_Z.zero_big_int m.start_tot))
        (Z.eqb (zsum fst m.starts) m.start_tot))
      (forallb (check_start m) m.starts)) (all_below m.nv (check_vertex m))

(** val check_copy_at : model -> plan -> int -> int -> bool **)

let check_copy_at m p x q0 =
  (||) (negb (p.seen x q0))
    (match m.kind_of q0 with
     | State ->
       each_action m p x q0 (fun a ->
         forallb (fun t -> p.seen x t.tgt) a.outs)
     | Exit _ -> true
     | Call en ->
       let y = p.enters x q0 in
       (&&)
         ((&&) ((&&) (Nat.ltb y p.ncopies) ((=) (p.of_comp y) (m.comp en)))
           (p.seen y en))
         (all_below (m.nexits (m.comp en)) (fun k ->
           (||) (negb (p.seen y (m.exit_at (m.comp en) k)))
             (p.seen x (m.ret q0 k)))))

(** val check_plan : model -> plan -> bool **)

let check_plan m p =
  (&&)
    (all_below p.ncopies (fun x ->
      (&&) (Nat.ltb (p.of_comp x) m.ncomp)
        (over_comp m (p.of_comp x) (check_copy_at m p x))))
    (forallb (fun we ->
      let e = snd we in
      let x = p.root e in
      (&&) ((&&) (Nat.ltb x p.ncopies) ((=) (p.of_comp x) m.start_comp))
        (p.seen x e)) m.starts)

type fam = { members : int; copy_at : (int -> int);
             fw : (int -> int -> Big_int_Z.big_int);
             fe : (int -> int -> Big_int_Z.big_int);
             fmix : (int -> int ->
                    Big_int_Z.big_int * (Big_int_Z.big_int * int) list);
             begins : (int -> Big_int_Z.big_int * (Big_int_Z.big_int * int)
                      list); floored : bool; weighted : bool;
             fg : (int -> int -> int -> Big_int_Z.big_int);
             gunit : Big_int_Z.big_int; free_one : bool;
             zero_exit : (int -> int) }

(** val mix_at :
    (int -> Big_int_Z.big_int) -> (Big_int_Z.big_int * int) list ->
    Big_int_Z.big_int **)

let mix_at h parts =
  zsum (fun nj -> Z.mul (fst nj) (h (snd nj))) parts

(** val check_mix :
    fam -> int -> (Big_int_Z.big_int * (Big_int_Z.big_int * int) list) -> bool **)

let check_mix f x mx =
  (&&)
    ((&&) (Z.ltb Big_int_Z.zero_big_int (fst mx))
      (Z.eqb (zsum fst (snd mx)) (fst mx)))
    (forallb (fun nj ->
      (&&)
        ((&&) (Z.leb Big_int_Z.zero_big_int (fst nj))
          (Nat.ltb (snd nj) f.members)) ((=) (f.copy_at (snd nj)) x))
      (snd mx))

(** val check_weights_at : model -> plan -> fam -> int -> int -> bool **)

let check_weights_at m p f x q0 =
  let n = m.nexits (m.comp q0) in
  let gs = f.fg x q0 in
  (&&)
    ((&&) (all_below n (fun l -> Z.leb Big_int_Z.zero_big_int (gs l)))
      (Z.leb (nzsum gs n) f.gunit))
    ((||)
      ((||) (negb (p.seen x q0))
        ((&&) ((&&) ((=) n (Stdlib.Int.succ 0)) f.free_one) (negb f.floored)))
      (match m.kind_of q0 with
       | State ->
         each_action m p x q0 (fun a ->
           all_below n (fun l ->
             Z.leb (Z.mul a.tot (gs l))
               (zsum (fun t -> Z.mul t.num (f.fg x t.tgt l)) a.outs)))
       | Exit k ->
         all_below n (fun l ->
           Z.leb (gs l) (if (=) l k then f.gunit else Big_int_Z.zero_big_int))
       | Call en ->
         let y = p.enters x q0 in
         let n' = m.nexits (m.comp en) in
         all_below n (fun l ->
           Z.leb (Z.mul f.gunit (gs l))
             (nzsum (fun k -> Z.mul (f.fg y en k) (f.fg x (m.ret q0 k) l)) n'))))

(** val check_weights : model -> plan -> fam -> bool **)

let check_weights m p f =
  (||) (negb f.weighted)
    (all_below p.ncopies (fun x ->
      over_comp m (p.of_comp x) (check_weights_at m p f x)))

(** val check_row :
    model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> Big_int_Z.big_int
    -> int -> int -> bool **)

let check_row m p f r margin i q0 =
  let x = f.copy_at i in
  (||) (negb (p.seen x q0))
    (match m.kind_of q0 with
     | State ->
       each_action m p x q0 (fun a ->
         Z.leb
           (Z.add
             (zsum (fun t -> Z.mul t.num (Z.add (r t) (f.fw i t.tgt))) a.outs)
             margin) (Z.mul a.tot (f.fw i q0)))
     | Exit k -> Z.leb (f.fe i k) (f.fw i q0)
     | Call en ->
       let mx = f.fmix i q0 in
       let y = p.enters x q0 in
       let n' = m.nexits (m.comp en) in
       (&&) ((&&) ((||) f.floored (negb ((=) n' 0))) (check_mix f y mx))
         (Z.leb
           (Z.add (Z.mul f.gunit (mix_at (fun j -> f.fw j en) (snd mx)))
             (zrise f.floored f.weighted f.gunit (f.fg y en) (fun k ->
               Z.sub (Z.mul (fst mx) (f.fw i (m.ret q0 k)))
                 (mix_at (fun j -> f.fe j k) (snd mx))) n'))
           (Z.mul f.gunit (Z.mul (fst mx) (f.fw i q0)))))

(** val check_family :
    model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> Big_int_Z.big_int
    -> bool **)

let check_family m p f r margin =
  (&&)
    ((&&) ((&&) (Z.ltb Big_int_Z.zero_big_int f.gunit) (check_weights m p f))
      (forallb (fun we -> check_mix f (p.root (snd we)) (f.begins (snd we)))
        m.starts))
    (all_below f.members (fun i ->
      (&&) (Nat.ltb (f.copy_at i) p.ncopies)
        (over_comp m (p.of_comp (f.copy_at i)) (check_row m p f r margin i))))

(** val check_nonneg : model -> plan -> fam -> bool **)

let check_nonneg m p f =
  all_below f.members (fun i ->
    let x = f.copy_at i in
    let c = p.of_comp x in
    let z0 = f.zero_exit x in
    let n = m.nexits c in
    (&&)
      ((||) ((=) n 0)
        ((&&) (Nat.ltb z0 n) (Z.leb (f.fe i z0) Big_int_Z.zero_big_int)))
      (over_comp m c (fun q0 ->
        Z.leb
          (if f.weighted
           then nzsum (fun k -> Z.mul (f.fg x q0 k) (f.fe i k)) n
           else Big_int_Z.zero_big_int) (Z.mul f.gunit (f.fw i q0)))))

(** val check_floor : model -> plan -> fam -> bool **)

let check_floor m p f =
  (&&) ((&&) f.floored (negb f.weighted))
    (all_below f.members (fun i ->
      let x = f.copy_at i in
      over_comp m (p.of_comp x) (fun q0 ->
        (||) (negb (p.seen x q0)) (Z.leb Big_int_Z.zero_big_int (f.fw i q0)))))

type ctxt = (q * int) list * int

(** val mixed : (int -> q) -> (q * int) list -> q **)

let mixed h l =
  qsum (fun li -> qmult (fst li) (h (snd li))) l

(** val xw : fam -> ctxt -> int -> q **)

let xw f x q0 =
  mixed (fun i -> inject_Z (f.fw i q0)) (fst x)

(** val xe : fam -> ctxt -> int -> q **)

let xe f x k =
  mixed (fun i -> inject_Z (f.fe i k)) (fst x)

(** val xg : fam -> int -> int -> int -> q **)

let xg f x q0 l =
  if f.weighted
  then { qnum = (f.fg x q0 l); qden = (Z.to_pos f.gunit) }
  else { qnum = Big_int_Z.zero_big_int; qden = Big_int_Z.unit_big_int }

(** val qmix :
    (Big_int_Z.big_int * (Big_int_Z.big_int * int) list) -> (q * int) list **)

let qmix mx =
  map (fun nj -> ({ qnum = (fst nj); qden = (Z.to_pos (fst mx)) }, (snd nj)))
    (snd mx)

(** val x_begin : plan -> fam -> int -> ctxt **)

let x_begin p f e =
  ((qmix (f.begins e)), (p.root e))

(** val worth_of :
    model -> plan -> fam -> (int -> Big_int_Z.big_int) -> int -> q **)

let worth_of m p f worth0 e =
  v m (xw f) (xe f) snd (xg f) f.floored (x_begin p f e) (fun k ->
    inject_Z (worth0 k)) e

type reason =
| EveryEnds
| PlanEnds of Big_int_Z.big_int * fam
| Costs of fam
| Signs

type side = { splan : plan; sfam : fam; sreason : reason }

(** val free : plan -> plan **)

let free p =
  { ncopies = p.ncopies; of_comp = p.of_comp; enters = p.enters; chosen =
    (fun _ _ -> None); seen = p.seen; root = p.root }

(** val check_steps : model -> plan -> Big_int_Z.big_int -> fam -> bool **)

let check_steps m p one f =
  (&&)
    ((&&) (Z.ltb Big_int_Z.zero_big_int one)
      (check_family m p f (fun _ -> one) Big_int_Z.zero_big_int))
    (check_nonneg m p f)

(** val check_potential :
    model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> bool **)

let check_potential m p f r =
  (&&) ((&&) f.floored (negb f.weighted))
    (check_family m p f r Big_int_Z.unit_big_int)

(** val check_reason :
    model -> bool -> (trans -> Big_int_Z.big_int) -> (int ->
    Big_int_Z.big_int) -> side -> bool **)

let check_reason m ends r worth0 s =
  match s.sreason with
  | EveryEnds -> ends
  | PlanEnds (one, f) -> check_steps m s.splan one f
  | Costs f -> check_potential m s.splan f r
  | Signs ->
    (||) (check_floor m s.splan s.sfam)
      ((&&) (check_nonneg m s.splan s.sfam)
        (all_below (m.nexits m.start_comp) (fun k ->
          Z.leb Big_int_Z.zero_big_int (worth0 k))))

(** val check_clear :
    model -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int) ->
    Big_int_Z.big_int -> bool **)

let check_clear m r worth0 b =
  (&&)
    ((&&) (Z.leb Big_int_Z.zero_big_int b)
      (all_below (m.nexits m.start_comp) (fun k -> Z.leb (worth0 k) b)))
    (all_below m.nv (fun q0 ->
      forallb (fun a ->
        Z.leb (zsum (fun t -> Z.mul t.num (r t)) a.outs)
          Big_int_Z.zero_big_int) (m.acts q0)))

(** val mean_start : model -> (int -> q) -> q **)

let mean_start m h =
  qsum (fun we ->
    qmult { qnum = (fst we); qden = (Z.to_pos m.start_tot) } (h (snd we)))
    m.starts

(** val check_side :
    model -> bool -> (trans -> Big_int_Z.big_int) -> (int ->
    Big_int_Z.big_int) -> Big_int_Z.big_int -> side -> bool **)

let check_side m ends r worth0 b s =
  (&&)
    ((&&)
      ((&&) (check_plan m s.splan)
        (check_family m s.splan s.sfam r Big_int_Z.zero_big_int))
      (check_reason m ends r worth0 s))
    ((||)
      (qle_bool (mean_start m (worth_of m s.splan s.sfam worth0))
        (inject_Z b)) (check_clear m r worth0 b))

(** val check_returns : model -> plan -> fam -> bool **)

let check_returns m p f =
  all_below f.members (fun i ->
    all_below m.nv (fun q0 ->
      match m.kind_of q0 with
      | Call en ->
        all_below (m.nexits (m.comp en)) (fun k ->
          (||) (negb ((=) (m.comp (m.ret q0 k)) (p.of_comp (f.copy_at i))))
            (Z.leb Big_int_Z.zero_big_int (f.fw i (m.ret q0 k))))
      | _ -> true))

(** val no_base : fam -> fam **)

let no_base f =
  { members = f.members; copy_at = f.copy_at; fw = f.fw; fe = (fun _ _ ->
    Big_int_Z.zero_big_int); fmix = f.fmix; begins = f.begins; floored =
    f.floored; weighted = f.weighted; fg = f.fg; gunit = f.gunit; free_one =
    f.free_one; zero_exit = f.zero_exit }

(** val check_growing :
    model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> bool **)

let check_growing m p f r =
  (&&) (check_family m p (no_base f) r Big_int_Z.unit_big_int)
    (check_returns m p (no_base f))

(** val check_endless :
    model -> plan -> fam -> fam -> (trans -> Big_int_Z.big_int) -> bool **)

let check_endless m p visits losses r =
  (&&)
    ((&&)
      ((&&) (check_plan m p)
        (check_family m p visits (fun _ -> Big_int_Z.zero_big_int)
          Big_int_Z.zero_big_int))
      (existsb (fun we ->
        (&&) (Z.ltb Big_int_Z.zero_big_int (fst we))
          (negb
            (qle_bool { qnum = Big_int_Z.zero_big_int; qden =
              Big_int_Z.unit_big_int }
              (worth_of m p visits (fun _ -> Big_int_Z.zero_big_int) (snd we)))))
        m.starts))
    ((||) (check_potential m p losses r) (check_growing m p losses r))

(** val over_copies : model -> plan -> (int -> int -> bool) -> bool **)

let over_copies m p f =
  all_below p.ncopies (fun x ->
    over_comp m (p.of_comp x) (fun q0 -> (||) (negb (p.seen x q0)) (f x q0)))

(** val over_roots : model -> plan -> (int -> int -> int -> bool) -> bool **)

let over_roots m p f =
  forallb (fun we ->
    let x = p.root (snd we) in
    all_below (m.nexits m.start_comp) (fun k ->
      let q0 = m.exit_at m.start_comp k in
      (||) (negb (p.seen x q0)) (f x q0 k))) m.starts

(** val check_above :
    model -> plan -> (int -> int -> Big_int_Z.big_int) -> (trans ->
    Big_int_Z.big_int) -> (int -> Big_int_Z.big_int) -> Big_int_Z.big_int ->
    bool **)

let check_above m p u r worth0 margin =
  (&&)
    (over_copies m p (fun x q0 ->
      match m.kind_of q0 with
      | State ->
        each_action m p x q0 (fun a ->
          Z.leb
            (Z.add
              (zsum (fun t -> Z.mul t.num (Z.add (r t) (u x t.tgt))) a.outs)
              margin) (Z.mul a.tot (u x q0)))
      | Exit _ -> true
      | Call en ->
        let y = p.enters x q0 in
        (&&) (Z.leb (u y en) (u x q0))
          (all_below (m.nexits (m.comp en)) (fun k ->
            let e = m.exit_at (m.comp en) k in
            (||) (negb (p.seen y e)) (Z.leb (u x (m.ret q0 k)) (u y e))))))
    (over_roots m p (fun x q0 k -> Z.leb (worth0 k) (u x q0)))

(** val check_below :
    model -> plan -> (int -> int -> Big_int_Z.big_int) -> (int -> int ->
    Big_int_Z.big_int) -> (trans -> Big_int_Z.big_int) -> (int ->
    Big_int_Z.big_int) -> bool **)

let check_below m p l h r worth0 =
  (&&)
    ((&&)
      (all_below (m.nexits m.start_comp) (fun k ->
        Z.leb Big_int_Z.zero_big_int (worth0 k)))
      (over_copies m p (fun x q0 ->
        (&&)
          ((&&) (Z.leb Big_int_Z.zero_big_int (l x q0))
            (Z.leb Big_int_Z.zero_big_int (h x q0)))
          (match m.kind_of q0 with
           | State ->
             (&&)
               (each_action m p x q0 (fun a ->
                 Z.leb Big_int_Z.zero_big_int
                   (zsum (fun t -> Z.mul t.num (r t)) a.outs)))
               ((||) (Z.leb (l x q0) Big_int_Z.zero_big_int)
                 ((&&) (Z.leb (l x q0) (h x q0))
                   (each_action m p x q0 (fun a ->
                     (&&)
                       (Z.leb (Z.mul a.tot (l x q0))
                         (zsum (fun t ->
                           Z.mul t.num (Z.add (r t) (l x t.tgt))) a.outs))
                       (Z.leb
                         (Z.add
                           (zsum (fun t ->
                             Z.mul t.num
                               (Z.sub (Z.sub (h x t.tgt) (l x t.tgt)) (r t)))
                             a.outs) Big_int_Z.unit_big_int)
                         (Z.mul a.tot (Z.sub (h x q0) (l x q0))))))))
           | Exit _ -> true
           | Call en ->
             let y = p.enters x q0 in
             (&&)
               ((||) (Z.leb (l x q0) Big_int_Z.zero_big_int)
                 ((&&) (Z.leb (l x q0) (l y en))
                   (Z.leb (Z.sub (h y en) (l y en)) (Z.sub (h x q0) (l x q0)))))
               (all_below (m.nexits (m.comp en)) (fun k ->
                 let e = m.exit_at (m.comp en) k in
                 let b = m.ret q0 k in
                 (||)
                   ((||) (negb (p.seen y e))
                     (Z.leb (l y e) Big_int_Z.zero_big_int))
                   ((&&) (Z.leb (l y e) (l x b))
                     (Z.leb (Z.sub (h x b) (l x b)) (Z.sub (h y e) (l y e))))))))))
    (over_roots m p (fun x q0 k -> Z.leb (l x q0) (worth0 k)))

type states =
| Above of (int -> int -> Big_int_Z.big_int)
   * (int -> int -> Big_int_Z.big_int) option
| Below of (int -> int -> Big_int_Z.big_int)
   * (int -> int -> Big_int_Z.big_int)

type evidence =
| ByFamily of side
| ByStates of plan * states

(** val at_root : plan -> states -> int -> Big_int_Z.big_int **)

let at_root p x e =
  match x with
  | Above (u, _) -> u (p.root e) e
  | Below (l, _) -> Z.opp (l (p.root e) e)

(** val check_progress :
    model -> plan -> (int -> int -> Big_int_Z.big_int) -> bool **)

let check_progress m p g =
  (&&)
    ((&&) (check_plan m (free p))
      (check_above m (free p) g (fun _ -> Big_int_Z.zero_big_int) (fun _ ->
        Big_int_Z.zero_big_int) Big_int_Z.unit_big_int))
    (over_copies m (free p) (fun x q0 ->
      Z.leb Big_int_Z.zero_big_int (g x q0)))

(** val check_states :
    model -> plan -> states -> (trans -> Big_int_Z.big_int) -> (int ->
    Big_int_Z.big_int) -> bool **)

let check_states m p x r worth0 =
  (&&) (check_plan m p)
    (match x with
     | Above (u, ends) ->
       (&&) (check_above m p u r worth0 Big_int_Z.zero_big_int)
         (match ends with
          | Some g -> check_progress m p g
          | None ->
            over_copies m p (fun x0 q0 ->
              Z.leb Big_int_Z.zero_big_int (u x0 q0)))
     | Below (l, h) ->
       check_below m p l h (fun t -> Z.opp (r t)) (fun k -> Z.opp (worth0 k)))

(** val check_evidence :
    model -> bool -> (trans -> Big_int_Z.big_int) -> (int ->
    Big_int_Z.big_int) -> Big_int_Z.big_int -> evidence -> bool **)

let check_evidence m ends r worth0 b = function
| ByFamily s -> check_side m ends r worth0 b s
| ByStates (p, x) ->
  (&&) (check_states m p x r worth0)
    ((||)
      (qle_bool (mean_start m (fun e0 -> inject_Z (at_root p x e0)))
        (inject_Z b)) (check_clear m r worth0 b))

(** val check_rows :
    model -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int) ->
    evidence -> bool **)

let check_rows m r worth0 = function
| ByFamily s ->
  (&&) (check_plan m s.splan)
    (check_family m s.splan s.sfam r Big_int_Z.zero_big_int)
| ByStates (p, x) -> check_states m p x r worth0

type certificate = { every_ends : (plan * (Big_int_Z.big_int * fam)) option;
                     about_all : evidence option;
                     about_one : evidence option;
                     endless : (plan * (fam * fam)) option }

(** val zpays :
    model -> question -> Big_int_Z.big_int -> trans -> Big_int_Z.big_int **)

let zpays m u s t =
  Z.mul s
    (match u.counts with
     | ModelRewards -> t.rew
     | Steps -> m.scale
     | NoRewards -> Big_int_Z.zero_big_int)

(** val zworth : question -> Big_int_Z.big_int -> int -> Big_int_Z.big_int **)

let zworth u s k =
  Z.mul s (u.worth k)

(** val check_end :
    model -> question -> bool -> Big_int_Z.big_int -> Big_int_Z.big_int
    option -> evidence option -> bool **)

let check_end m u ends s claimed = function
| Some e ->
  (match claimed with
   | Some b -> check_evidence m ends (zpays m u s) (zworth u s) (Z.mul s b) e
   | None -> check_rows m (zpays m u s) (zworth u s) e)
| None -> (match claimed with
           | Some _ -> false
           | None -> true)

(** val freed : evidence option -> evidence option **)

let freed = function
| Some e0 ->
  (match e0 with
   | ByFamily s ->
     Some (ByFamily { splan = (free s.splan); sfam = s.sfam; sreason =
       s.sreason })
   | ByStates (p, x) -> Some (ByStates ((free p), x)))
| None -> None

(** val check_every : model -> certificate -> bool **)

let check_every m c =
  match c.every_ends with
  | Some p ->
    let (p0, p1) = p in
    let (one, f) = p1 in
    (&&) (check_plan m (free p0)) (check_steps m (free p0) one f)
  | None -> false

(** val check_infinite :
    model -> question -> Big_int_Z.big_int -> bool -> certificate -> bool **)

let check_infinite m u s all c =
  match c.endless with
  | Some p ->
    let (p0, p1) = p in
    let (visits, losses) = p1 in
    check_endless m (if all then free p0 else p0) visits losses (zpays m u s)
  | None -> false

(** val verify : model -> question -> claim -> certificate -> bool **)

let verify m u c cert =
  let s =
    if u.least
    then Big_int_Z.minus_big_int Big_int_Z.unit_big_int
    else Big_int_Z.unit_big_int
  in
  let ends = check_every m cert in
  let lower = match c with
              | Between (lower, _) -> lower
              | _ -> None in
  let upper = match c with
              | Between (_, upper) -> upper
              | _ -> None in
  (&&)
    ((&&)
      ((&&) (check_model m)
        (check_end m u ends s (if u.least then lower else upper)
          (freed cert.about_all)))
      (check_end m u ends (Z.opp s) (if u.least then upper else lower)
        cert.about_one))
    (match c with
     | Between (_, _) ->
       (match cert.every_ends with
        | Some _ -> ends
        | None -> true)
     | Infinite ->
       check_infinite m u (Big_int_Z.minus_big_int Big_int_Z.unit_big_int)
         u.least cert
     | MinusInfinite ->
       check_infinite m u Big_int_Z.unit_big_int (negb u.least) cert)
