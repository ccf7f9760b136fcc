(* The checker, and its soundness. *)
From Coq Require Import QArith Lqa List Lia Bool Arith ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs Ends Family CheckModel CheckFamily Sides States Evidence.
Open Scope Z_scope.

(* A certificate: steps that every policy takes, evidence about all policies, evidence about the
   policy of a plan; or visits and losses, for infinite optima. Nothing in it is trusted. *)
Record certificate := Certificate {
  every_ends : option (plan * (Z * fam));
  about_all : option evidence;
  about_one : option evidence;
  endless : option (plan * (fam * fam))
}.

Section Verify.
Variable m : model.
Variable u : question.

(* Rewards and worths in whole numbers, negated if s is -1. *)
Definition zpays (s : Z) (t : trans) : Z :=
  s * match counts u with ModelRewards => rew t | Steps => scale m | NoRewards => 0 end.
Definition zworth (s : Z) (k : nat) : Z := s * worth u k.

Definition check_end (ends : bool) (s : Z) (claimed : option Z) (given : option evidence) : bool :=
  match given, claimed with
  | Some e, Some b => check_evidence m ends (zpays s) (zworth s) (s * b) e
  | Some e, None => check_rows m (zpays s) (zworth s) e
  | None, None => true
  | None, Some _ => false
  end.
Definition freed (e : option evidence) : option evidence :=
  match e with
  | Some (ByFamily s) => Some (ByFamily (Side (free (splan s)) (sfam s) (sreason s)))
  | Some (ByStates P x) => Some (ByStates (free P) x)
  | None => None
  end.
Definition check_every (c : certificate) : bool :=
  match every_ends c with
  | Some (P, (one, f)) => check_plan m (free P) && check_steps m (free P) one f
  | None => false
  end.
Definition check_infinite (s : Z) (all : bool) (c : certificate) : bool :=
  match endless c with
  | Some (P, (visits, losses)) => check_endless m (if all then free P else P) visits losses (zpays s)
  | None => false
  end.

Definition verify (c : claim) (cert : certificate) : bool :=
  let s := if least u then -1 else 1 in
  let ends := check_every cert in
  let lower := match c with Between lower _ => lower | _ => None end in
  let upper := match c with Between _ upper => upper | _ => None end in
  check_model m &&
  check_end ends s (if least u then lower else upper) (freed (about_all cert)) &&
  check_end ends (- s) (if least u then upper else lower) (about_one cert) &&
  match c with
  | Between _ _ => match every_ends cert with Some _ => ends | None => true end
  | Infinite => check_infinite (-1) (least u) cert
  | MinusInfinite => check_infinite 1 (negb (least u)) cert
  end.
End Verify.

Open Scope Q_scope.

(* The policy of a plan, for runs from one entry, and for all runs: histories know where they began. *)
Definition planned_action (m : model) (P : plan) (e q : nat) (s : list nat) : nat :=
  match chosen P (copy P (root P e) s) q with
  | Some j => if (j <? length (acts m q))%nat then j else 0%nat
  | None => 0%nat
  end.
Definition planned (m : model) (P : plan) (e : nat) : policy := fun _ c =>
  match c with At q s => [(1, planned_action m P e q s)] | Stop _ => [] end.
Fixpoint origin (h : hist) (c : conf) : conf := match h with [] => c | (c0, _) :: h => origin h c0 end.
Definition policy_of (m : model) (P : plan) : policy := fun h c =>
  match origin h c with At e _ => planned m P e h c | Stop _ => planned m P 0 h c end.

Section Sound.
Variable m : model.
Hypothesis HM : check_model m = true.
Let W := check_model_wf m HM.

Lemma planned_legal P e : legal m (planned m P e).
Proof.
  intros h q s Hq K. simpl. split; [|lra]. intros wi [<-|[]]. simpl. split; [lra|]. unfold planned_action.
  pose proof (wf_acts m W q Hq K). assert (0 < length (acts m q))%nat by (destruct (acts m q); [easy|simpl; lia]).
  destruct (chosen P _ q) as [j|]; auto. destruct (j <? length (acts m q))%nat eqn:E; auto. now apply Nat.ltb_lt.
Qed.

Lemma policy_of_legal P : legal m (policy_of m P).
Proof. intros h q s Hq K. unfold policy_of. destruct (origin h (At q s)); apply planned_legal; auto. Qed.

Lemma planned_follows P we : check_plan m P = true -> In we (starts m) -> follows m P (root P (snd we)) (planned m P (snd we)).
Proof.
  intros HP Hw. split; [apply planned_legal|]. intros h q s wi O Hi. simpl in Hi. destruct Hi as [<-|[]]. cbn [snd].
  destruct O as (Hq & K & S & F). destruct (root_checked m P HP we Hw) as [R _].
  pose proof (copy_fits m P (check_plan_closed m HM P HP) (root P (snd we)) R s _ F) as C.
  pose proof (copy_checked m HM P HP _ q C Hq S) as X. rewrite K in X. unfold each_action in X.
  unfold allowed, planned_action. destruct (chosen P _ q) as [j|]; auto. apply andb_true_iff in X. destruct X as [X _]. now rewrite X.
Qed.

Lemma policy_of_planned P e r G n : forall h c s, origin h c = At e s ->
  ev m (policy_of m P) r G n h c == ev m (planned m P e) r G n h c.
Proof.
  induction n as [|n IH]; intros h c s H; [reflexivity|]. destruct c as [k|q s']; [reflexivity|]. cbn [ev].
  assert (E : policy_of m P h (At q s') = planned m P e h (At q s')) by (unfold policy_of; now rewrite H).
  rewrite E. apply qsum_eq. intros wi _. apply Qmult_comp; [reflexivity|].
  apply qsum_eq. intros t _. apply Qmult_comp; [reflexivity|]. apply Qplus_comp; [reflexivity|]. eapply IH. exact H.
Qed.

(* Policies that behave, in runs from each entry, as one that follows the plan. *)
Definition along (P : plan) (pi : policy) : Prop := forall we, In we (starts m) ->
  exists pi', follows m P (root P (snd we)) pi' /\
    forall r G n, ev m pi r G n [] (At (snd we) []) == ev m pi' r G n [] (At (snd we) []).

Lemma free_along P pi : legal m pi -> along (free P) pi.
Proof. intros L we _. exists pi. split; [|reflexivity]. split; auto. intros h q s wi _ _. exact I. Qed.

Lemma policy_of_along P : check_plan m P = true -> along P (policy_of m P).
Proof.
  intros HP we Hw. exists (planned m P (snd we)). split; [now apply planned_follows|].
  intros r G n. now apply (policy_of_planned P (snd we) r G n [] _ []).
Qed.

(* Means over the entries in which runs begin. *)
Lemma mean_bound_in (l : list (Z * nat)) (p : Z * nat -> Q) (v : nat -> nat -> Q) (b : nat -> Q) :
  (forall we, In we l -> 0 <= p we /\ at_most (v (snd we)) (b (snd we))) -> forall eps, 0 < eps ->
  exists N, forall n, (N <= n)%nat -> qsum (fun we => p we * v (snd we) n) l <= qsum (fun we => p we * b (snd we)) l + qsum p l * eps.
Proof.
  intros H eps He. induction l as [|we l IH].
  - exists 0%nat. intros n _. simpl. lra.
  - destruct IH as [N1 H1]; [intros; apply H; now right|]. destruct (H we (or_introl eq_refl)) as [P0 A].
    destruct (A eps He) as [N2 H2]. exists (max N1 N2). intros n Hn. specialize (H1 n ltac:(lia)). specialize (H2 n ltac:(lia)).
    simpl. nra.
Qed.

Lemma mean_at_most v b : (forall we, In we (starts m) -> at_most (v (snd we)) (b (snd we))) ->
  at_most (fun n => mean_start m (fun e => v e n)) (mean_start m b).
Proof.
  intros H eps He. destruct (mean_bound_in (starts m) (fun we => fst we # Z.to_pos (start_tot m)) v b) with (eps := eps) as [N HN]; auto.
  - intros we Hw. split; auto. now destruct (wf_start m W we Hw).
  - exists N. intros n Hn. specialize (HN n Hn). rewrite (wf_start_sum m W) in HN. unfold mean_start. lra.
Qed.

Lemma at_most_le v v' x y : (forall n, v' n == v n) -> x <= y -> at_most v x -> at_most v' y.
Proof. intros E L H eps He. destruct (H eps He) as [N HN]. exists N. intros n Hn. specialize (HN n Hn). rewrite E. lra. Qed.

(* Without gains: no plan is needed. *)
Definition anywhere : plan := Plan (ncomp m) (fun c => c)
  (fun _ q => match kind_of m q with Call en => comp m en | _ => 0%nat end) (fun _ _ => None) (fun _ _ => true) (fun _ => start_comp m).

Lemma clear_sound r worth b we pi : check_clear m r worth b = true -> In we (starts m) -> legal m pi ->
  at_most (fun n => ev m pi (paid r) (fun _ => stopped worth) n [] (At (snd we) [])) (inject_Z b).
Proof.
  unfold check_clear. rewrite !andb_true_iff. intros [[HB HX] HA] Hw L. apply Z.leb_le in HB.
  destruct (wf_start m W we Hw) as [_ [A [B C]]].
  assert (CL : closed m anywhere).
  { split; auto. intros x q en [_ _] Hq K _. split; auto. unfold anywhere, copy_of; cbn. rewrite K.
    destruct (wf_call m W q en Hq K) as [He _]. split; auto. now apply (wf_comp m W). }
  assert (R0 : copy_of anywhere (start_comp m) (start_comp m)).
  { split; [|reflexivity]. cbn. rewrite <- C. now apply (wf_comp m W). }
  apply (upper_always m W anywhere CL (start_comp m) R0 pi) with (G := fun _ => inject_Z b).
  - split; auto. intros h q s wi _ _. exact I.
  - now repeat split.
  - intros q s i [Hq _] Hi _. set (a := act m q i). pose proof (nth_In (acts m q) no_action Hi : In a (acts m q)) as Ha.
    pose proof (all_below_spec _ _ HA q Hq) as X. cbv beta in X. rewrite forallb_forall in X. specialize (X a Ha). apply Z.leb_le in X.
    unfold step. rewrite (qsum_eq _ (fun t => prob a t * inject_Z (r t) + prob a t * inject_Z b)) by (unfold paid; intros; ring).
    assert (PS : qsum (prob a) (outs a) == 1) by exact (prob_sum m W q i Hq Hi).
    rewrite qsum_plus, qsum_scale_r, PS. unfold prob. rewrite qsum_z0.
    pose proof (tot_pos m HM q a Hq Ha) as T0. destruct (to_pos _ T0) as [T [ET TT]]. rewrite TT.
    assert (zsum (fun t => num t * r t)%Z (outs a) # T <= 0) by (set (y := zsum _ _) in *; clearbody y; whole). lra.
  - intros [k|q s] O; cbn [stopped]; [|whole]. pose proof (all_below_spec _ _ HX k O) as X. cbv beta in X. apply Z.leb_le in X. whole.
Qed.

(* What holds of every entry, and at the start by the claim. *)
Lemma claim_sound (r : trans -> Z) worth b pi (v : nat -> Q) : legal m pi ->
  (Qle_bool (mean_start m v) (inject_Z b) || check_clear m r worth b) = true ->
  (forall we, In we (starts m) -> at_most (fun n => ev m pi (paid r) (fun _ => stopped worth) n [] (At (snd we) [])) (v (snd we))) ->
  at_most (fun n => mean_start m (fun e => ev m pi (paid r) (fun _ => stopped worth) n [] (At e []))) (inject_Z b).
Proof.
  intros L HC HV. apply orb_true_iff in HC. destruct HC as [HC|HC].
  - apply Qle_bool_iff in HC.
    apply (at_most_le (fun n => mean_start m (fun e => ev m pi (paid r) (fun _ => stopped worth) n [] (At e []))) _ (mean_start m v)); auto; [reflexivity|].
    exact (mean_at_most (fun e n => ev m pi (paid r) (fun _ => stopped worth) n [] (At e [])) v HV).
  - apply (at_most_le (fun n => mean_start m (fun e => ev m pi (paid r) (fun _ => stopped worth) n [] (At e []))) _
      (mean_start m (fun _ => inject_Z b))); [reflexivity| |].
    + apply Qle_lteq. right. unfold mean_start. rewrite qsum_scale_r, (wf_start_sum m W). ring.
    + apply (mean_at_most (fun e n => ev m pi (paid r) (fun _ => stopped worth) n [] (At e [])) (fun _ => inject_Z b)).
      intros we Hw. now apply (clear_sound r worth b we pi).
Qed.

Lemma evidence_sound ends r worth b x pi : check_evidence m ends r worth b x = true ->
  (ends = true -> forall we, In we (starts m) -> forall pi, legal m pi -> exists B, forall n, taken m pi n [] (At (snd we) []) <= B) ->
  legal m pi -> along (plan_of x) pi ->
  at_most (fun n => mean_start m (fun e => ev m pi (paid r) (fun _ => stopped worth) n [] (At e []))) (inject_Z b).
Proof.
  intros HX HE L A. destruct x as [[P f why]|P x]; cbn [check_evidence plan_of splan] in *.
  - unfold check_side in HX. cbn [splan sfam] in HX. rewrite !andb_true_iff in HX. destruct HX as [[[HP HF] HR] HC].
    apply (claim_sound r worth b pi (worth_of m P f worth) L HC). intros we Hw. destruct (A we Hw) as [pi' [F' E']].
    apply (at_most_le (fun n => ev m pi' (paid r) (fun _ => stopped worth) n [] (At (snd we) [])) _ (worth_of m P f worth (snd we))); auto; [lra|].
    apply (reason_sound m HM P HP we Hw ends r worth f why pi' HF HR); auto. intros He. destruct F'. now apply (HE He we Hw).
  - apply andb_true_iff in HX. destruct HX as [HX HC]. pose proof HX as HX'. unfold check_states in HX'. apply andb_true_iff in HX'. destruct HX' as [HP _].
    apply (claim_sound r worth b pi (fun e => inject_Z (at_root P x e)) L HC). intros we Hw. destruct (A we Hw) as [pi' [F' E']].
    apply (at_most_le (fun n => ev m pi' (paid r) (fun _ => stopped worth) n [] (At (snd we) [])) _ (inject_Z (at_root P x (snd we)))); auto; [lra|].
    exact (states_sound m HM P HP we Hw x r worth pi' HX F').
Qed.

(* Infinite totals. *)
Lemma endless_sound P visits losses r worth pi : check_endless m P visits losses r = true -> along P pi ->
  to_minus_infinity (fun n => mean_start m (fun e => ev m pi (paid r) (fun _ => stopped worth) n [] (At e []))).
Proof.
  unfold check_endless. rewrite !andb_true_iff, existsb_exists. intros [[[HP HV] [w0 [Hw0 HX]]] HL] A.
  rewrite andb_true_iff in HX. destruct HX as [HX1 HX2]. apply Z.ltb_lt in HX1. apply negb_true_iff in HX2.
  assert (V0 : worth_of m P visits (fun _ => 0%Z) (snd w0) < 0).
  { apply Qnot_le_lt. rewrite <- Qle_bool_iff. congruence. }
  set (v := fun e n => ev m pi (paid r) (fun _ => stopped worth) n [] (At e [])).
  (* every entry is bounded from above, and one tends to minus infinity *)
  assert (UP : forall we, In we (starts m) -> exists B, forall n, v (snd we) n <= B).
  { intros we Hw. destruct (A we Hw) as [pi' [F' E']]. destruct (losses_sound m HM P HP we Hw losses r worth HL) as [D [k [Phi [K0 [PF PA]]]]].
    exists (Phi (At (snd we) []) + D). intros n. unfold v. rewrite E'.
    destruct (root_checked m P HP we Hw) as [R0 _]. pose proof (start_ok m HM P HP we Hw) as O.
    pose proof (pays_steps m W P (check_plan_closed m HM P HP) _ R0 pi' F' [] _ O _ _ Phi D k PF PA n) as X.
    pose proof (taken_nonneg m W P (check_plan_closed m HM P HP) _ R0 pi' F' n [] _ O). nra. }
  assert (DOWN : forall x, exists N, forall n, (N <= n)%nat -> v (snd w0) n <= x).
  { intros x. destruct (A w0 Hw0) as [pi' [F' E']]. destruct (losses_sound m HM P HP w0 Hw0 losses r worth HL) as [D [k [Phi [K0 [PF PA]]]]].
    destruct (root_checked m P HP w0 Hw0) as [R0 _]. pose proof (start_ok m HM P HP w0 Hw0) as O.
    destruct (never_enough m W P (check_plan_closed m HM P HP) _ R0 pi' F' [] _ O _ _ Phi D k K0 PF PA x) as [N HN].
    - apply (visits_sound m HM P HP w0 Hw0 visits pi' HV V0 F').
    - exists N. intros n Hn. unfold v. rewrite E'. auto. }
  assert (PN : forall we, In we (starts m) -> 0 <= fst we # Z.to_pos (start_tot m)) by (intros we Hw; now destruct (wf_start m W we Hw)).
  assert (P0 : 0 < fst w0 # Z.to_pos (start_tot m)) by (unfold Qlt; cbn [Qnum Qden]; lia).
  intros x. unfold mean_start. fold v.
  assert (ALL : forall l, (forall we, In we l -> In we (starts m)) ->
    exists B, forall n, qsum (fun we => (fst we # Z.to_pos (start_tot m)) * v (snd we) n) l <= B).
  { induction l as [|we l IH]; intros Hl.
    - exists 0. intros n. simpl. lra.
    - destruct IH as [B1 H1]; [intros; apply Hl; now right|]. destruct (UP we (Hl we (or_introl eq_refl))) as [B2 H2].
      pose proof (PN we (Hl we (or_introl eq_refl))). exists ((fst we # Z.to_pos (start_tot m)) * B2 + B1). intros n. simpl.
      specialize (H1 n). specialize (H2 n). nra. }
  destruct (in_split _ _ Hw0) as [l1 [l2 EL]].
  destruct (ALL l1) as [B1 H1]; [intros; rewrite EL; apply in_or_app; now left|].
  destruct (ALL l2) as [B2 H2]; [intros; rewrite EL; apply in_or_app; right; now right|].
  set (p0 := fst w0 # Z.to_pos (start_tot m)) in *. destruct (DOWN ((x - B1 - B2) / p0)) as [N HN]. exists N. intros n Hn.
  rewrite EL, qsum_app. cbn [qsum]. specialize (H1 n). specialize (H2 n). specialize (HN n Hn). fold p0.
  assert (p0 * ((x - B1 - B2) / p0) == x - B1 - B2) by (field; lra).
  assert (p0 * v (snd w0) n <= p0 * ((x - B1 - B2) / p0)) by nra. unfold v in *. lra.
Qed.

(* From whole numbers back to the rewards of the question. *)
Section Question.
Variable u : question.
Let S : Q := inject_Z (scale m).
Let S0 : 0 < S.
Proof. pose proof (scale_pos m HM). unfold S, Qlt, inject_Z; cbn [Qnum Qden]. lia. Qed.

Lemma over_scale_eq x : over_scale m x * S == inject_Z x.
Proof. unfold over_scale, S. destruct (to_pos _ (scale_pos m HM)) as [p [E T]]. rewrite T, E. unfold Qeq, Qmult, inject_Z; cbn [Qnum Qden]. lia. Qed.

Lemma value_signed s pi n :
  mean_start m (fun e => ev m pi (paid (zpays m u s)) (fun _ => stopped (zworth u s)) n [] (At e [])) ==
  inject_Z s * S * value m u pi n.
Proof.
  unfold mean_start, value. rewrite <- qsum_scale. apply qsum_eq. intros we _.
  rewrite (ev_ext m pi _ (fun _ t => (inject_Z s * S) * pays m u t) _ (fun _ c => (inject_Z s * S) * ending m u c)).
  - rewrite (ev_scale m pi (inject_Z s * S) (fun _ => pays m u) (fun _ => ending m u)). ring.
  - intros c t. unfold paid, zpays, pays. rewrite inject_Z_mult. destruct (counts u).
    + rewrite <- (over_scale_eq (rew t)). ring.
    + fold S. ring.
    + change (inject_Z 0) with 0. ring.
  - intros h c. unfold stopped, zworth, ending. destruct c as [k|q st]; [|ring].
    rewrite inject_Z_mult, <- (over_scale_eq (worth u k)). ring.
Qed.

Lemma at_most_value pi b :
  at_most (fun n => mean_start m (fun e => ev m pi (paid (zpays m u 1)) (fun _ => stopped (zworth u 1)) n [] (At e []))) (inject_Z (1 * b)) ->
  at_most (value m u pi) (over_scale m b).
Proof.
  intros H eps He. destruct (H (eps * S)) as [N HN]; [nra|]. exists N. intros n Hn. specialize (HN n Hn).
  rewrite value_signed, inject_Z_mult, <- (over_scale_eq b) in HN. change (inject_Z 1) with 1 in HN.
  apply Qmult_le_r with S; auto. lra.
Qed.

Lemma at_least_value pi b :
  at_most (fun n => mean_start m (fun e => ev m pi (paid (zpays m u (-1))) (fun _ => stopped (zworth u (-1))) n [] (At e []))) (inject_Z (-1 * b)) ->
  at_least (value m u pi) (over_scale m b).
Proof.
  intros H eps He. destruct (H (eps * S)) as [N HN]; [nra|]. exists N. intros n Hn. specialize (HN n Hn).
  rewrite value_signed, inject_Z_mult, <- (over_scale_eq b) in HN. change (inject_Z (-1)) with (-1) in HN.
  apply Qmult_le_r with S; auto. lra.
Qed.

Lemma infinite_value s pi : s = 1%Z \/ s = (-1)%Z ->
  to_minus_infinity (fun n => mean_start m (fun e => ev m pi (paid (zpays m u s)) (fun _ => stopped (zworth u s)) n [] (At e []))) ->
  if (s =? 1)%Z then to_minus_infinity (value m u pi) else to_infinity (value m u pi).
Proof.
  intros [-> | ->] H; cbn [Z.eqb Pos.eqb]; intros x.
  - destruct (H (x * S)) as [N HN]. exists N. intros n Hn. specialize (HN n Hn). rewrite value_signed in HN.
    change (inject_Z 1) with 1 in HN. apply Qmult_le_r with S; auto. lra.
  - destruct (H (- x * S)) as [N HN]. exists N. intros n Hn. specialize (HN n Hn). rewrite value_signed in HN.
    change (inject_Z (-1)) with (-1) in HN. apply Qmult_le_r with S; auto. lra.
Qed.

Lemma every_sound cert : check_every m cert = true ->
  forall we, In we (starts m) -> forall pi, legal m pi -> exists B, forall n, taken m pi n [] (At (snd we) []) <= B.
Proof.
  unfold check_every. destruct (every_ends cert) as [[P [one f]]|]; [|discriminate]. rewrite andb_true_iff. intros [HP HS] we Hw pi L.
  destruct (steps_sound m HM (free P) HP we Hw one f HS) as [B HB]. exists B. apply HB. split; auto. intros h q s wi _ _. exact I.
Qed.

(* One end, of every policy or of the policy of the plan. *)
Definition bounds (s : Z) (pi : policy) (b : Z) : Prop :=
  if (s =? 1)%Z then at_most (value m u pi) (over_scale m b) else at_least (value m u pi) (over_scale m b).

Lemma bounds_of ends s b e pi : s = 1%Z \/ s = (-1)%Z -> check_evidence m ends (zpays m u s) (zworth u s) (s * b) e = true ->
  (ends = true -> forall we, In we (starts m) -> forall pi, legal m pi -> exists B, forall n, taken m pi n [] (At (snd we) []) <= B) ->
  legal m pi -> along (plan_of e) pi -> bounds s pi b.
Proof.
  intros Hs HC HE L A. pose proof (evidence_sound ends _ _ _ e pi HC HE L A) as H. unfold bounds.
  destruct Hs as [-> | ->]; cbn [Z.eqb Pos.eqb]; [now apply at_most_value|now apply at_least_value].
Qed.

Lemma all_sound ends s b e : s = 1%Z \/ s = (-1)%Z -> check_end m u ends s (Some b) (freed e) = true ->
  (ends = true -> forall we, In we (starts m) -> forall pi, legal m pi -> exists B, forall n, taken m pi n [] (At (snd we) []) <= B) ->
  forall pi, legal m pi -> bounds s pi b.
Proof.
  intros Hs HC HE pi L. unfold check_end, freed in HC. destruct e as [[e|P x]|]; [| |discriminate];
    apply (bounds_of ends s b _ pi Hs HC HE L); cbn [plan_of splan]; now apply free_along.
Qed.

Lemma one_sound ends s b e : s = 1%Z \/ s = (-1)%Z -> check_end m u ends s (Some b) e = true ->
  (ends = true -> forall we, In we (starts m) -> forall pi, legal m pi -> exists B, forall n, taken m pi n [] (At (snd we) []) <= B) ->
  exists pi, legal m pi /\ bounds s pi b.
Proof.
  intros Hs HC HE. unfold check_end in HC. destruct e as [e|]; [|discriminate]. exists (policy_of m (plan_of e)).
  split; [apply policy_of_legal|]. apply (bounds_of ends s b e _ Hs HC HE); [apply policy_of_legal|].
  apply policy_of_along. destruct e as [e|P x]; cbn [check_evidence plan_of] in *; unfold check_side, check_states in HC;
    rewrite !andb_true_iff in HC; tauto.
Qed.

Lemma infinite_sound s all cert : s = 1%Z \/ s = (-1)%Z -> check_infinite m u s all cert = true ->
  (if all then every else some) m u (if (s =? 1)%Z then to_minus_infinity else to_infinity).
Proof.
  intros Hs H. unfold check_infinite in H. destruct (endless cert) as [[P [visits losses]]|]; [|discriminate].
  assert (X : forall pi, along (if all then free P else P) pi -> (if (s =? 1)%Z then to_minus_infinity else to_infinity) (value m u pi)).
  { intros pi A. pose proof (infinite_value s pi Hs (endless_sound _ _ _ _ (zworth u s) pi H A)) as Y. now destruct (s =? 1)%Z. }
  destruct all.
  - intros pi L. apply X. now apply free_along.
  - exists (policy_of m P). split; [apply policy_of_legal|]. apply X. apply policy_of_along.
    unfold check_endless in H. rewrite !andb_true_iff in H. tauto.
Qed.

Theorem verify_sound c cert : verify m u c cert = true -> meaning m u c.
Proof.
  unfold verify. rewrite !andb_true_iff. intros [[[_ HA] HO] HI]. pose proof (every_sound cert) as HE.
  destruct c as [lower upper| |]; cbn [meaning].
  - unfold every, some. destruct (least u); split.
    + destruct upper as [b|]; [|exact I]. exact (one_sound _ 1 b _ (or_introl eq_refl) HO HE).
    + destruct lower as [b|]; [|exact I]. exact (all_sound _ (-1) b _ (or_intror eq_refl) HA HE).
    + destruct upper as [b|]; [|exact I]. exact (all_sound _ 1 b _ (or_introl eq_refl) HA HE).
    + destruct lower as [b|]; [|exact I]. exact (one_sound _ (-1) b _ (or_intror eq_refl) HO HE).
  - exact (infinite_sound (-1) (least u) cert (or_intror eq_refl) HI).
  - pose proof (infinite_sound 1 (negb (least u)) cert (or_introl eq_refl) HI) as X. now destruct (least u).
Qed.
End Question.
End Sound.
