(* Values by state: numbers of the vertices of copies (the contexts of a finite process), without
   rises. From above they bound totals as families do. From below, where nothing is lost, L bounds
   totals if errors of L get smaller along H: at a geometric rate. *)
From Coq Require Import QArith Lqa List Lia Bool Arith ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs Ends CheckModel.
Open Scope Z_scope.

Section Check.
Variable m : model.
Variable P : plan.

Definition over_copies (f : nat -> nat -> bool) : bool :=
  all_below (ncopies P) (fun x => over_comp m (of_comp P x) (fun q => negb (seen P x q) || f x q)).
Definition over_roots (f : nat -> nat -> nat -> bool) : bool :=
  forallb (fun we => let x := root P (snd we) in all_below (nexits m (start_comp m)) (fun k =>
    let q := exit_at m (start_comp m) k in negb (seen P x q) || f x q k)) (starts m).

(* From above: U >= r + sum p U' for actions, and U does not grow in calls and returns. *)
Definition check_above (U : nat -> nat -> Z) (r : trans -> Z) (worth : nat -> Z) (margin : Z) : bool :=
  over_copies (fun x q => match kind_of m q with
    | State => each_action m P x q (fun a =>
        zsum (fun t => num t * (r t + U x (tgt t))) (outs a) + margin <=? tot a * U x q)
    | Exit _ => true
    | Call en => let y := enters P x q in (U y en <=? U x q) &&
        all_below (nexits m (comp m en)) (fun k => let e := exit_at m (comp m en) k in
          negb (seen P y e) || (U x (ret m q k) <=? U y e))
    end) &&
  over_roots (fun x q k => worth k <=? U x q).

(* From below, with rewards r and worths that are not negative: where L > 0, L <= r + sum p L', and
   H - L falls by more than is paid. *)
Definition check_below (L H : nat -> nat -> Z) (r : trans -> Z) (worth : nat -> Z) : bool :=
  all_below (nexits m (start_comp m)) (fun k => 0 <=? worth k) &&
  over_copies (fun x q => (0 <=? L x q) && (0 <=? H x q) && match kind_of m q with
    | State => each_action m P x q (fun a => 0 <=? zsum (fun t => num t * r t) (outs a)) &&
        ((L x q <=? 0) || ((L x q <=? H x q) && each_action m P x q (fun a =>
          (tot a * L x q <=? zsum (fun t => num t * (r t + L x (tgt t))) (outs a)) &&
          (zsum (fun t => num t * (H x (tgt t) - L x (tgt t) - r t)) (outs a) + 1 <=? tot a * (H x q - L x q)))))
    | Exit _ => true
    | Call en => let y := enters P x q in
        ((L x q <=? 0) || ((L x q <=? L y en) && (H y en - L y en <=? H x q - L x q))) &&
        all_below (nexits m (comp m en)) (fun k => let e := exit_at m (comp m en) k in let b := ret m q k in
          negb (seen P y e) || (L y e <=? 0) ||
          ((L y e <=? L x b) && (H x b - L x b <=? H y e - L y e)))
    end) &&
  over_roots (fun x q k => L x q <=? worth k).
End Check.

Open Scope Q_scope.
Fixpoint qpow (x : Q) (n : nat) : Q := match n with O => 1 | S n => x * qpow x n end.
Lemma qpow_bounds x n : 0 <= x <= 1 -> 0 <= qpow x n <= 1.
Proof. intros Hx. induction n as [|n IH]; simpl; [lra|]. nra. Qed.

(* (1 - 1/D)^n <= D / (n + D). *)
Lemma qpow_small D n : 1 <= D -> qpow (1 - / D) n * (inject_Z (Z.of_nat n) + D) <= D.
Proof.
  intros HD. assert (I : D * / D == 1) by (field; lra). assert (I0 : 0 <= / D) by (apply Qinv_le_0_compat; lra).
  assert (I1 : / D <= 1) by nra.
  induction n as [|n IH]; [simpl; change (inject_Z 0) with 0; lra|]. rewrite nat_S. cbn [qpow].
  pose proof (qpow_bounds (1 - / D) n ltac:(lra)). pose proof (nat_nonneg n).
  set (p := qpow (1 - / D) n) in *. set (N := inject_Z (Z.of_nat n)) in *. set (i := / D) in *.
  assert ((1 - i) * (1 + N + D) <= N + D).
  { assert (i * N >= 0) by nra. setoid_replace ((1 - i) * (1 + N + D)) with (1 + N + D - i - i * N - D * i) by ring. rewrite I. lra. }
  assert (p * ((1 - i) * (1 + N + D)) <= p * (N + D)) by nra.
  setoid_replace ((1 - i) * p * (1 + N + D)) with (p * ((1 - i) * (1 + N + D))) by ring. lra.
Qed.

Section Sound.
Variable m : model.
Hypothesis HM : check_model m = true.
Let W := check_model_wf m HM.
Variable P : plan.
Hypothesis HP : check_plan m P = true.
Let CL := check_plan_closed m HM P HP.
Variable we : Z * nat.
Hypothesis HE : In we (starts m).
Notation e := (snd we).
Notation r0 := (root P (snd we)).
Let R0 : copy_of P r0 (start_comp m) := proj1 (root_checked m P HP we HE).
Let O0 : ok m P r0 (At e []) := start_ok m HM P HP we HE.

Lemma copies_spec f x q : over_copies m P f = true -> copy_of P x (comp m q) -> (q < nv m)%nat -> seen P x q = true -> f x q = true.
Proof.
  intros H [Hx E] Hq S. pose proof (all_below_spec _ _ H x Hx) as X. cbv beta in X. rewrite E in X.
  pose proof (over_comp_spec m HM _ q Hq X) as Y. cbv beta in Y. now rewrite S in Y.
Qed.

Lemma roots_spec f q k : over_roots m P f = true -> (q < nv m)%nat -> comp m q = start_comp m -> kind_of m q = Exit k ->
  seen P r0 q = true -> f r0 q k = true.
Proof.
  intros H Hq E K S. unfold over_roots in H. rewrite forallb_forall in H. specialize (H we HE). cbv zeta in H.
  destruct (wf_exit m W q k Hq K) as [Hk Ex]. rewrite E in Hk, Ex. pose proof (all_below_spec _ _ H k Hk) as X. cbv beta in X.
  rewrite Ex, S in X. exact X.
Qed.

Section Above.
Variables (U : nat -> nat -> Z) (r : trans -> Z) (worth : nat -> Z) (margin : Z).
Hypothesis HU : check_above m P U r worth margin = true.

Definition state_value (c : conf) : Q :=
  match c with Stop k => inject_Z (worth k) | At q s => inject_Z (U (copy P r0 s) q) end.

Lemma state_settle q s : (q < nv m)%nat -> fits m P r0 (comp m q) s -> seen P (copy P r0 s) q = true ->
  state_value (settle m q s) <= inject_Z (U (copy P r0 s) q).
Proof.
  intros Hq F S. unfold check_above in HU. rewrite andb_true_iff in HU. destruct HU as [HC HR].
  pose proof (copy_fits m P CL r0 R0 s _ F) as C. unfold settle. destruct (kind_of m q) as [|k|en] eqn:K; [simpl; lra| |].
  - destruct s as [|p s].
    + simpl in F. pose proof (roots_spec _ q k HR Hq F K S) as X. cbv beta in X. apply Z.leb_le in X. simpl. whole.
    + cbn [copy state_value] in *. destruct F as [Hp [[en [Kp Cp]] [Sp F]]]. pose proof (copy_fits m P CL r0 R0 s _ F) as Cs.
      pose proof (copies_spec _ _ p HC Cs Hp Sp) as X. cbv beta in X. rewrite Kp in X. cbv zeta in X. rewrite andb_true_iff in X.
      destruct X as [_ X]. destruct (wf_exit m W q k Hq K) as [Hk Ex]. rewrite <- Cp in Hk, Ex.
      pose proof (all_below_spec _ _ X k Hk) as Y. cbv beta in Y. rewrite Ex, S in Y. apply Z.leb_le in Y. whole.
  - pose proof (copies_spec _ _ q HC C Hq S) as X. cbv beta in X. rewrite K in X. cbv zeta in X. rewrite andb_true_iff in X.
    destruct X as [X _]. apply Z.leb_le in X. cbn [state_value copy]. whole.
Qed.

Theorem above_falls slack : (forall q a, (q < nv m)%nat -> In a (acts m q) -> slack * inject_Z (tot a) <= inject_Z margin) ->
  falls m P r0 (fun _ t => inject_Z (r t) + slack) state_value.
Proof.
  intros HS q s i O Hi A. pose proof O as (Hq & K & S & F). pose proof (copy_fits m P CL r0 R0 s _ F) as C.
  set (a := act m q i). pose proof (nth_In (acts m q) no_action Hi : In a (acts m q)) as Ha.
  pose proof HU as HU'. unfold check_above in HU'. rewrite andb_true_iff in HU'. destruct HU' as [HC _].
  pose proof (copies_spec _ _ q HC C Hq S) as X. cbv beta in X. rewrite K in X.
  pose proof (each_action_spec m P _ q _ i X Hi A) as Y. cbv beta in Y. apply Z.leb_le in Y. fold a in Y.
  apply Qle_trans with (qsum (fun t => prob a t * inject_Z (r t + U (copy P r0 s) (tgt t))) (outs a) + slack).
  - assert (E : slack == qsum (fun t => prob a t * slack) (outs a)).
    { rewrite qsum_scale_r. unfold a. rewrite (prob_sum m W q i Hq Hi). ring. }
    rewrite E. rewrite <- qsum_plus. apply qsum_le. intros t Ht. destruct (wf_tgt m W q a t Hq Ha Ht) as [Hn Ct].
    pose proof (prob_nonneg m W q i t Hq Hi Ht) as P0. fold a in P0.
    assert (St : seen P (copy P r0 s) (tgt t) = true) by (apply (cl_state m P CL (copy P r0 s) q i t); auto).
    assert (Ft : fits m P r0 (comp m (tgt t)) s) by now rewrite Ct.
    pose proof (state_settle (tgt t) s Hn Ft St). rewrite inject_Z_plus. set (u := state_value _) in *. nra.
  - destruct (to_pos _ (tot_pos m HM q a Hq Ha)) as [T [ET TT]]. specialize (HS q a Hq Ha). unfold prob.
    rewrite TT, qsum_z0. rewrite ET in Y, HS. set (y := zsum _ _) in *. cbn [state_value].
    assert (B : slack <= margin # T).
    { apply Qmult_le_r with (inject_Z (Zpos T)); [whole|]. eapply Qle_trans; [exact HS|]. whole. }
    assert (D : (y # T) + (margin # T) <= inject_Z (U (copy P r0 s) q)).
    { rewrite Qinv_plus_distr. clearbody y. whole. }
    lra.
Qed.
End Above.

(* From below. *)
Section Below.
Variables (L H : nat -> nat -> Z) (r : trans -> Z) (worth : nat -> Z).
Hypothesis HL : check_below m P L H r worth = true.
Variable pi : policy.
Hypothesis Fo : follows m P r0 pi.
Notation ok := (ok m P r0).
Notation T := (fun (_ : hist) (c : conf) => match c with Stop k => inject_Z (worth k) | At _ _ => 0 end).
Notation reach := (ev m pi (fun _ t => inject_Z (r t)) T).

Let HW : forall k, (k < nexits m (start_comp m))%nat -> 0 <= inject_Z (worth k).
Proof.
  intros k Hk. unfold check_below in HL. rewrite !andb_true_iff in HL. destruct HL as [[X _] _].
  pose proof (all_below_spec _ _ X k Hk) as Y. cbv beta in Y. apply Z.leb_le in Y. whole.
Qed.

Let ROW x q (C : copy_of P x (comp m q)) (Hq : (q < nv m)%nat) (S : seen P x q = true) :=
  copies_spec _ x q (proj2 (proj1 (andb_true_iff _ _) (proj1 (proj1 (andb_true_iff _ _) HL)))) C Hq S.

Lemma low_numbers x q : copy_of P x (comp m q) -> (q < nv m)%nat -> seen P x q = true -> 0 <= inject_Z (L x q) /\ 0 <= inject_Z (H x q).
Proof.
  intros C Hq S. pose proof (ROW x q C Hq S) as X. cbv beta in X. rewrite !andb_true_iff in X. destruct X as [[A B] _].
  apply Z.leb_le in A, B. split; whole.
Qed.

Lemma pays_nonneg q s i : ok (At q s) -> (i < length (acts m q))%nat -> allowed P (copy P r0 s) q i ->
  0 <= qsum (fun t => prob (act m q i) t * inject_Z (r t)) (outs (act m q i)).
Proof.
  intros (Hq & K & S & F) Hi A. pose proof (copy_fits m P CL r0 R0 s _ F) as C. pose proof (ROW _ q C Hq S) as X. cbv beta in X.
  rewrite K, !andb_true_iff in X. destruct X as [_ [X _]]. pose proof (each_action_spec m P _ q _ i X Hi A) as Y. cbv beta in Y.
  apply Z.leb_le in Y. unfold prob. rewrite qsum_z0. set (y := zsum _ _) in *. clearbody y. whole.
Qed.

Lemma reach_nonneg n : forall h c, ok c -> 0 <= reach n h c.
Proof.
  induction n as [|n IH]; intros h c O; [destruct c; simpl; auto; lra|]. destruct c as [k|q s]; [simpl; auto|].
  pose proof O as (Hq & _). destruct (pick m P r0 pi Fo h q s O) as [Hl H1]. cbn [ev]. apply qsum_nonneg. intros wi Hi.
  destruct (Hl wi Hi) as [Hw [Hn A]]. pose proof (pays_nonneg q s _ O Hn A) as Y. unfold step. set (a := act m q (snd wi)) in *.
  assert (0 <= qsum (fun t => prob a t * (inject_Z (r t) + reach n ((At q s, snd wi) :: h) (settle m (tgt t) s))) (outs a)); [|nra].
  eapply Qle_trans; [exact Y|]. apply qsum_le. intros t Ht. pose proof (prob_nonneg m W q _ t Hq Hn Ht) as P0. fold a in P0.
  pose proof (IH ((At q s, snd wi) :: h) _ (ok_next m W P CL r0 R0 q s _ t O Hn A Ht)). set (z := reach _ _ _) in *. nra.
Qed.

(* How much of H is left after n steps. *)
Variable D : Q.
Hypothesis HD : 1 <= D.
Hypothesis HH : forall x q a, copy_of P x (comp m q) -> (q < nv m)%nat -> In a (acts m q) ->
  inject_Z (H x q) * inject_Z (tot a) <= D.
Notation kappa := (qpow (1 - / D)).

Let K01 n : 0 <= kappa n <= 1.
Proof.
  apply qpow_bounds. assert (I : D * / D == 1) by (field; lra). assert (I0 : 0 <= / D) by (apply Qinv_le_0_compat; lra). nra.
Qed.

Definition left (n : nat) (x q : nat) : Q := inject_Z (L x q) - kappa n * inject_Z (H x q).

(* From one number to another through a port. *)
Lemma left_port n x q y q' v : 0 <= v -> 0 <= inject_Z (H x q) -> ((L x q <=? 0) || ((L x q <=? L y q') && (H y q' - L y q' <=? H x q - L x q)))%Z = true ->
  left n y q' <= v -> left n x q <= v.
Proof.
  intros V0 H0 R LV. unfold left in *. pose proof (K01 n). set (k := kappa n) in *. apply orb_true_iff in R. destruct R as [R|R].
  - apply Z.leb_le in R. assert (inject_Z (L x q) <= 0) by whole. nra.
  - apply andb_true_iff in R. destruct R as [R1 R2]. apply Z.leb_le in R1, R2.
    assert (A : inject_Z (L x q) <= inject_Z (L y q')) by whole.
    assert (B : inject_Z (H y q') - inject_Z (L y q') <= inject_Z (H x q) - inject_Z (L x q)).
    { unfold Qminus. rewrite <- !inject_Z_opp, <- !inject_Z_plus. rewrite <- Zle_Qle. lia. }
    set (l := inject_Z (L x q)) in *. set (l' := inject_Z (L y q')) in *. set (g := inject_Z (H x q)) in *. set (g' := inject_Z (H y q')) in *.
    assert ((1 - k) * l <= (1 - k) * l') by nra. assert (k * (g' - l') <= k * (g - l)) by nra. lra.
Qed.

Lemma left_settle n h q s : (forall h q s, ok (At q s) -> left n (copy P r0 s) q <= reach n h (At q s)) ->
  (q < nv m)%nat -> fits m P r0 (comp m q) s -> seen P (copy P r0 s) q = true ->
  left n (copy P r0 s) q <= reach n h (settle m q s).
Proof.
  intros IH Hq F S. pose proof (copy_fits m P CL r0 R0 s _ F) as C. destruct (low_numbers _ q C Hq S) as [L0 H0].
  pose proof (ok_settle m W P CL r0 R0 q s Hq S F) as O. pose proof (reach_nonneg n h _ O) as V0. revert O V0.
  unfold settle. destruct (kind_of m q) as [|k|en] eqn:K; intros O V0; [now apply IH| |].
  - destruct s as [|p s].
    + cbn [copy fits] in *. pose proof HL as X. unfold check_below in X. rewrite andb_true_iff in X. destruct X as [_ X].
      pose proof (roots_spec _ q k X Hq F K S) as Y. cbv beta in Y. apply Z.leb_le in Y.
      assert (E : reach n h (Stop k) = inject_Z (worth k)) by (destruct n; reflexivity). rewrite E. unfold left. pose proof (K01 n).
      assert (inject_Z (L r0 q) <= inject_Z (worth k)) by whole. nra.
    + pose proof F as [Hp [[en [Kp Cp]] [Sp Fs]]]. pose proof (copy_fits m P CL r0 R0 s _ Fs) as Cs.
      pose proof (ROW _ p Cs Hp Sp) as X. cbv beta in X. rewrite Kp in X. cbv zeta in X. rewrite !andb_true_iff in X. destruct X as [_ [_ X]].
      destruct (wf_exit m W q k Hq K) as [Hk Ex]. rewrite <- Cp in Hk, Ex. pose proof (all_below_spec _ _ X k Hk) as Y. cbv beta in Y.
      cbn [copy] in S. rewrite Ex, S in Y. cbn [negb orb] in Y.
      apply (left_port n _ q (copy P r0 s) (ret m p k)); auto.
  - pose proof (ROW _ q C Hq S) as X. cbv beta in X. rewrite K in X. cbv zeta in X. rewrite !andb_true_iff in X. destruct X as [_ [X _]].
    apply (left_port n _ q (enters P (copy P r0 s) q) en); auto. apply (IH h en (q :: s) O).
Qed.

Theorem below_reach n : forall h q s, ok (At q s) -> left n (copy P r0 s) q <= reach n h (At q s).
Proof.
  induction n as [|n IH]; intros h q s O; pose proof O as (Hq & K & Sq & F); pose proof (copy_fits m P CL r0 R0 s _ F) as C;
    destruct (low_numbers _ q C Hq Sq) as [L0 H0]; pose proof (ROW _ q C Hq Sq) as X; cbv beta in X; rewrite K, !andb_true_iff, orb_true_iff in X;
    destruct X as [_ [_ X]]; set (x := copy P r0 s) in *.
  - unfold left. cbn [qpow ev]. destruct X as [X|X].
    + apply Z.leb_le in X. assert (inject_Z (L x q) <= 0) by whole. lra.
    + apply andb_true_iff in X. destruct X as [X _]. apply Z.leb_le in X. assert (inject_Z (L x q) <= inject_Z (H x q)) by whole. lra.
  - destruct X as [X|X].
    { apply Z.leb_le in X. assert (inject_Z (L x q) <= 0) by whole. pose proof (reach_nonneg (S n) h _ O). unfold left. pose proof (K01 (S n)). nra. }
    apply andb_true_iff in X. destruct X as [_ X]. destruct (pick m P r0 pi Fo h q s O) as [Hl H1]. cbn [ev].
    apply (mean_ge fst); auto. { intros wi Hi. now destruct (Hl wi Hi). }
    intros wi Hi. destruct (Hl wi Hi) as [_ [Hn A]]. set (a := act m q (snd wi)). pose proof (nth_In (acts m q) no_action Hn : In a (acts m q)) as Ha.
    pose proof (each_action_spec m P _ q _ _ X Hn A) as Y. cbv beta in Y. fold a in Y. rewrite andb_true_iff in Y. destruct Y as [Y1 Y2].
    apply Z.leb_le in Y1, Y2. destruct (to_pos _ (tot_pos m HM q a Hq Ha)) as [t0 [ET TT]].
    (* what the rows say, in fractions *)
    set (sr := qsum (fun t => prob a t * inject_Z (r t)) (outs a)).
    set (sl := qsum (fun t => prob a t * inject_Z (L x (tgt t))) (outs a)).
    set (sh := qsum (fun t => prob a t * inject_Z (H x (tgt t))) (outs a)).
    assert (E1 : inject_Z (L x q) <= sr + sl).
    { unfold sr, sl. rewrite <- qsum_plus. rewrite (qsum_eq _ (fun t => prob a t * inject_Z (r t + L x (tgt t)))) by (intros; rewrite inject_Z_plus; ring).
      unfold prob. rewrite TT, qsum_z0. rewrite ET in Y1. set (y := zsum _ _) in *. clearbody y. whole. }
    assert (E2 : sh - sl - sr + (1 # t0) <= inject_Z (H x q) - inject_Z (L x q)).
    { assert (E : sh - sl - sr == qsum (fun t => prob a t * inject_Z (H x (tgt t) - L x (tgt t) - r t)) (outs a)).
      { unfold sr, sl, sh. rewrite <- !qsum_minus. apply qsum_eq. intros t _.
        unfold Z.sub. rewrite !inject_Z_plus, !inject_Z_opp. ring. }
      rewrite E. unfold prob. rewrite TT, qsum_z0. rewrite ET in Y2. set (y := zsum _ _) in *. clearbody y.
      rewrite Qinv_plus_distr. unfold Qminus. rewrite <- inject_Z_opp, <- inject_Z_plus. whole. }
    assert (E3 : step m (fun _ t => inject_Z (r t)) (reach n ((At q s, snd wi) :: h)) (At q s) s a >= sr + sl - kappa n * sh).
    { assert (E : sr + sl - kappa n * sh == qsum (fun t => prob a t * (inject_Z (r t) + left n x (tgt t))) (outs a)).
      { unfold sr, sl, sh, left. rewrite <- qsum_scale, <- qsum_plus, <- qsum_minus. apply qsum_eq. intros; ring. }
      rewrite E. apply qsum_le. intros t Ht. destruct (wf_tgt m W q a t Hq Ha Ht) as [Hnt Ct].
      pose proof (prob_nonneg m W q _ t Hq Hn Ht) as P0. fold a in P0.
      assert (St : seen P x (tgt t) = true) by (apply (cl_state m P CL x q (snd wi) t); auto).
      assert (Ft : fits m P r0 (comp m (tgt t)) s) by now rewrite Ct.
      pose proof (left_settle n ((At q s, snd wi) :: h) (tgt t) s (fun h q s O => IH h q s O) Hnt Ft St) as B. fold x in B.
      set (z := reach _ _ _) in *. nra. }
    unfold left. cbn [qpow]. pose proof (K01 n) as KN. set (kn := kappa n) in *. fold x.
    assert (I : D * / D == 1) by (field; lra). assert (I0 : 0 <= / D) by (apply Qinv_le_0_compat; lra).
    assert (HQ : / D * inject_Z (H x q) <= 1 # t0).
    { specialize (HH x q a C Hq Ha). rewrite ET in HH. assert (T0 : 0 < inject_Z (Zpos t0)) by whole.
      apply Qmult_le_r with (inject_Z (Zpos t0)); auto. assert (E : (1 # t0) * inject_Z (Zpos t0) == 1) by (unfold Qeq, Qmult, inject_Z; cbn [Qnum Qden]; lia).
      rewrite E. setoid_replace (/ D * inject_Z (H x q) * inject_Z (Z.pos t0)) with (/ D * (inject_Z (H x q) * inject_Z (Zpos t0))) by ring.
      assert (/ D * (inject_Z (H x q) * inject_Z (Zpos t0)) <= / D * D) by nra. rewrite Qmult_comm in I. lra. }
    set (l := inject_Z (L x q)) in *. set (g := inject_Z (H x q)) in *. set (i := / D) in *.
    eapply Qle_trans; [|exact E3].
    assert (kn * (sh - sl - sr + (1 # t0)) <= kn * (g - l)) by nra.
    assert ((1 - kn) * l <= (1 - kn) * (sr + sl)) by nra.
    assert (kn * (i * g) <= kn * (1 # t0)) by nra.
    lra.
Qed.
End Below.
End Sound.
