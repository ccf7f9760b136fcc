
val negb : bool -> bool

val fst : ('a1 * 'a2) -> 'a1

val snd : ('a1 * 'a2) -> 'a2

val length : 'a1 list -> int

type comparison =
| Eq
| Lt
| Gt

val add : int -> int -> int

module Nat :
 sig
  val ltb : int -> int -> bool
 end

module Pos :
 sig
  val succ : Big_int_Z.big_int -> Big_int_Z.big_int

  val add : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val add_carry : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val pred_double : Big_int_Z.big_int -> Big_int_Z.big_int

  val mul : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val compare_cont :
    comparison -> Big_int_Z.big_int -> Big_int_Z.big_int -> comparison

  val compare : Big_int_Z.big_int -> Big_int_Z.big_int -> comparison

  val eqb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool
 end

val nth : int -> 'a1 list -> 'a1 -> 'a1

val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list

val existsb : ('a1 -> bool) -> 'a1 list -> bool

val forallb : ('a1 -> bool) -> 'a1 list -> bool

val seq : int -> int -> int list

module Z :
 sig
  val double : Big_int_Z.big_int -> Big_int_Z.big_int

  val succ_double : Big_int_Z.big_int -> Big_int_Z.big_int

  val pred_double : Big_int_Z.big_int -> Big_int_Z.big_int

  val pos_sub : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val add : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val opp : Big_int_Z.big_int -> Big_int_Z.big_int

  val sub : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val mul : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val compare : Big_int_Z.big_int -> Big_int_Z.big_int -> comparison

  val leb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool

  val ltb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool

  val eqb : Big_int_Z.big_int -> Big_int_Z.big_int -> bool

  val max : Big_int_Z.big_int -> Big_int_Z.big_int -> Big_int_Z.big_int

  val to_pos : Big_int_Z.big_int -> Big_int_Z.big_int
 end

type q = { qnum : Big_int_Z.big_int; qden : Big_int_Z.big_int }

val inject_Z : Big_int_Z.big_int -> q

val qle_bool : q -> q -> bool

val qplus : q -> q -> q

val qmult : q -> q -> q

val qopp : q -> q

val qminus : q -> q -> q

val qsum : ('a1 -> q) -> 'a1 list -> q

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

val no_action : action

val act : model -> int -> int -> action

type claim =
| Between of Big_int_Z.big_int option * Big_int_Z.big_int option
| Infinite
| MinusInfinite

val nsum : (int -> q) -> int -> q

val qmax : q -> q -> q

val qmaxn : (int -> q) -> int -> q

val top : bool -> (int -> q) -> int -> q

val rise : bool -> (int -> q) -> (int -> q) -> int -> q

val zsum : ('a1 -> Big_int_Z.big_int) -> 'a1 list -> Big_int_Z.big_int

val nzsum : (int -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int

val zmaxn : (int -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int

val ztop : bool -> (int -> Big_int_Z.big_int) -> int -> Big_int_Z.big_int

val zrise :
  bool -> bool -> Big_int_Z.big_int -> (int -> Big_int_Z.big_int) -> (int ->
  Big_int_Z.big_int) -> int -> Big_int_Z.big_int

val all_below : int -> (int -> bool) -> bool

type plan = { ncopies : int; of_comp : (int -> int);
              enters : (int -> int -> int);
              chosen : (int -> int -> int option);
              seen : (int -> int -> bool); root : (int -> int) }

val excess : ('a1 -> int -> q) -> 'a1 -> (int -> q) -> int -> q

val v :
  model -> ('a1 -> int -> q) -> ('a1 -> int -> q) -> ('a1 -> int) -> (int ->
  int -> int -> q) -> bool -> 'a1 -> (int -> q) -> int -> q

val is_state : kind -> bool

val over_comp : model -> int -> (int -> bool) -> bool

val each_action : model -> plan -> int -> int -> (action -> bool) -> bool

val check_action : model -> int -> action -> bool

val check_vertex : model -> int -> bool

val check_start : model -> (Big_int_Z.big_int * int) -> bool

val check_model : model -> bool

val check_copy_at : model -> plan -> int -> int -> bool

val check_plan : model -> plan -> bool

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

val mix_at :
  (int -> Big_int_Z.big_int) -> (Big_int_Z.big_int * int) list ->
  Big_int_Z.big_int

val check_mix :
  fam -> int -> (Big_int_Z.big_int * (Big_int_Z.big_int * int) list) -> bool

val check_weights_at : model -> plan -> fam -> int -> int -> bool

val check_weights : model -> plan -> fam -> bool

val check_row :
  model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> Big_int_Z.big_int
  -> int -> int -> bool

val check_family :
  model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> Big_int_Z.big_int
  -> bool

val check_nonneg : model -> plan -> fam -> bool

val check_floor : model -> plan -> fam -> bool

type ctxt = (q * int) list * int

val mixed : (int -> q) -> (q * int) list -> q

val xw : fam -> ctxt -> int -> q

val xe : fam -> ctxt -> int -> q

val xg : fam -> int -> int -> int -> q

val qmix :
  (Big_int_Z.big_int * (Big_int_Z.big_int * int) list) -> (q * int) list

val x_begin : plan -> fam -> int -> ctxt

val worth_of : model -> plan -> fam -> (int -> Big_int_Z.big_int) -> int -> q

type reason =
| EveryEnds
| PlanEnds of Big_int_Z.big_int * fam
| Costs of fam
| Signs

type side = { splan : plan; sfam : fam; sreason : reason }

val free : plan -> plan

val check_steps : model -> plan -> Big_int_Z.big_int -> fam -> bool

val check_potential :
  model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> bool

val check_reason :
  model -> bool -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int)
  -> side -> bool

val check_clear :
  model -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int) ->
  Big_int_Z.big_int -> bool

val mean_start : model -> (int -> q) -> q

val check_side :
  model -> bool -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int)
  -> Big_int_Z.big_int -> side -> bool

val check_returns : model -> plan -> fam -> bool

val no_base : fam -> fam

val check_growing :
  model -> plan -> fam -> (trans -> Big_int_Z.big_int) -> bool

val check_endless :
  model -> plan -> fam -> fam -> (trans -> Big_int_Z.big_int) -> bool

val over_copies : model -> plan -> (int -> int -> bool) -> bool

val over_roots : model -> plan -> (int -> int -> int -> bool) -> bool

val check_above :
  model -> plan -> (int -> int -> Big_int_Z.big_int) -> (trans ->
  Big_int_Z.big_int) -> (int -> Big_int_Z.big_int) -> Big_int_Z.big_int ->
  bool

val check_below :
  model -> plan -> (int -> int -> Big_int_Z.big_int) -> (int -> int ->
  Big_int_Z.big_int) -> (trans -> Big_int_Z.big_int) -> (int ->
  Big_int_Z.big_int) -> bool

type states =
| Above of (int -> int -> Big_int_Z.big_int)
   * (int -> int -> Big_int_Z.big_int) option
| Below of (int -> int -> Big_int_Z.big_int)
   * (int -> int -> Big_int_Z.big_int)

type evidence =
| ByFamily of side
| ByStates of plan * states

val at_root : plan -> states -> int -> Big_int_Z.big_int

val check_progress :
  model -> plan -> (int -> int -> Big_int_Z.big_int) -> bool

val check_states :
  model -> plan -> states -> (trans -> Big_int_Z.big_int) -> (int ->
  Big_int_Z.big_int) -> bool

val check_evidence :
  model -> bool -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int)
  -> Big_int_Z.big_int -> evidence -> bool

val check_rows :
  model -> (trans -> Big_int_Z.big_int) -> (int -> Big_int_Z.big_int) ->
  evidence -> bool

type certificate = { every_ends : (plan * (Big_int_Z.big_int * fam)) option;
                     about_all : evidence option;
                     about_one : evidence option;
                     endless : (plan * (fam * fam)) option }

val zpays :
  model -> question -> Big_int_Z.big_int -> trans -> Big_int_Z.big_int

val zworth : question -> Big_int_Z.big_int -> int -> Big_int_Z.big_int

val check_end :
  model -> question -> bool -> Big_int_Z.big_int -> Big_int_Z.big_int option
  -> evidence option -> bool

val freed : evidence option -> evidence option

val check_every : model -> certificate -> bool

val check_infinite :
  model -> question -> Big_int_Z.big_int -> bool -> certificate -> bool

val verify : model -> question -> claim -> certificate -> bool
