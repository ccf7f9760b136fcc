(* Recursive Markov decision processes, policies, and totals: every definition that gives the
   theorem of Statement.v its meaning. There are no proofs in this file. *)
From Coq Require Import QArith List.
Import ListNotations.
Open Scope Q_scope.

Fixpoint qsum {A} (f : A -> Q) (l : list A) : Q :=
  match l with [] => 0 | x :: l => f x + qsum f l end.

(* A model. Its vertices are 0 .. nv - 1. Whole numbers stand for fractions: probabilities have the
   denominator [tot] of their action, rewards, worths of exits and bounds the denominator [scale].
   Denominators that are not above 0 are refused by the checker. Fields are functions, so that the
   extracted program reads arrays. *)
Record trans := Trans { num : Z; rew : Z; tgt : nat }.
Record action := Action { tot : Z; outs : list trans }.
Inductive kind :=
| State                          (* a node or a return port: the policy chooses an action *)
| Exit (k : nat)                 (* exit k of its component *)
| Call (en : nat).               (* a call port, with the entry that it leads to *)
Record model := Model {
  nv : nat;
  ncomp : nat;
  kind_of : nat -> kind;
  acts : nat -> list action;
  ret : nat -> nat -> nat;       (* call port, exit k of the callee: the return port *)
  comp : nat -> nat;             (* component of a vertex *)
  nexits : nat -> nat;           (* number of exits of a component *)
  exit_at : nat -> nat -> nat;   (* component, k: the vertex of its exit k *)
  first : nat -> nat;            (* vertices of a component: first .. first + size - 1 *)
  size : nat -> nat;
  scale : Z;
  start_comp : nat;
  start_tot : Z;
  starts : list (Z * nat)        (* numerators of probabilities, over start_tot, and entries *)
}.

(* What is asked for: the greatest or the least total of what is counted, and of what the exits of
   the start component are worth. *)
Inductive counted := ModelRewards | Steps | NoRewards.
Record question := Question { least : bool; counts : counted; worth : nat -> Z }.

(* A configuration: a run has stopped at an exit, or is at a vertex, with a stack of call ports. *)
Inductive conf := Stop (k : nat) | At (q : nat) (s : list nat).

(* A policy sees the history, newest first, and gives weights to actions by their numbers. *)
Definition hist := list (conf * nat).
Definition policy := hist -> conf -> list (Q * nat).

Section Totals.
Variable m : model.

(* Policies choose among the actions that there are, with probabilities. *)
Definition legal (pi : policy) : Prop :=
  forall h q s, (q < nv m)%nat -> kind_of m q = State ->
    (forall wi, In wi (pi h (At q s)) -> 0 <= fst wi /\ (snd wi < length (acts m q))%nat) /\
    qsum fst (pi h (At q s)) == 1.

(* Moves through call ports and exits take no step. *)
Definition settle (q : nat) (s : list nat) : conf :=
  match kind_of m q with
  | State => At q s
  | Call en => At en (q :: s)
  | Exit k => match s with [] => Stop k | c :: s => At (ret m c k) s end
  end.

Definition no_action := Action 1 [].
Definition act (q i : nat) : action := nth i (acts m q) no_action.
Definition prob (a : action) (t : trans) : Q := num t # Z.to_pos (tot a).
Definition reward := conf -> trans -> Q.

(* The mean, after an action, of what it pays and of F. *)
Definition step (r : reward) (F : conf -> Q) (c : conf) (s : list nat) (a : action) : Q :=
  qsum (fun t => prob a t * (r c t + F (settle (tgt t) s))) (outs a).

(* The mean of what n steps pay, and of G after them. *)
Fixpoint ev (pi : policy) (r : reward) (G : hist -> conf -> Q) (n : nat) (h : hist) (c : conf) : Q :=
  match n, c with
  | S n, At q s =>
      qsum (fun wi => fst wi * step r (ev pi r G n ((c, snd wi) :: h)) c s (act q (snd wi))) (pi h c)
  | _, _ => G h c
  end.

Definition over_scale (x : Z) : Q := x # Z.to_pos (scale m).
Definition pays (u : question) (t : trans) : Q :=
  match counts u with ModelRewards => over_scale (rew t) | Steps => 1 | NoRewards => 0 end.
Definition ending (u : question) (c : conf) : Q :=
  match c with Stop k => over_scale (worth u k) | At _ _ => 0 end.

(* What is expected of the first n steps, with the worth of the exit if the run has ended. *)
Definition value (u : question) (pi : policy) (n : nat) : Q :=
  qsum (fun we => (fst we # Z.to_pos (start_tot m)) *
    ev pi (fun _ => pays u) (fun _ => ending u) n [] (At (snd we) [])) (starts m).
End Totals.

(* Totals are limits of these values: bounds of the upper and of the lower limit. *)
Definition at_most (v : nat -> Q) (x : Q) : Prop :=
  forall eps, 0 < eps -> exists N, forall n, (N <= n)%nat -> v n <= x + eps.
Definition at_least (v : nat -> Q) (x : Q) : Prop :=
  forall eps, 0 < eps -> exists N, forall n, (N <= n)%nat -> x - eps <= v n.
Definition to_infinity (v : nat -> Q) : Prop :=
  forall x, exists N, forall n, (N <= n)%nat -> x <= v n.
Definition to_minus_infinity (v : nat -> Q) : Prop :=
  forall x, exists N, forall n, (N <= n)%nat -> v n <= x.

(* What is claimed of the optimum: both ends, or one of them, or that it is infinite. *)
Inductive claim := Between (lower upper : option Z) | Infinite | MinusInfinite.

(* One of the two: every policy has the property; some policy has it. *)
Definition every (m : model) (u : question) (holds : (nat -> Q) -> Prop) : Prop :=
  forall pi, legal m pi -> holds (value m u pi).
Definition some (m : model) (u : question) (holds : (nat -> Q) -> Prop) : Prop :=
  exists pi, legal m pi /\ holds (value m u pi).

Definition given (x : option Z) (holds : Z -> Prop) : Prop :=
  match x with Some x => holds x | None => True end.

Definition meaning (m : model) (u : question) (c : claim) : Prop :=
  match c with
  | Between lower upper =>
      given upper (fun x => (if least u then some else every) m u (fun v => at_most v (over_scale m x))) /\
      given lower (fun x => (if least u then every else some) m u (fun v => at_least v (over_scale m x)))
  | Infinite => (if least u then every else some) m u to_infinity
  | MinusInfinite => (if least u then some else every) m u to_minus_infinity
  end.
