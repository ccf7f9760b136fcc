(* Evidence for one end: a family, or values by state. *)
From Coq Require Import QArith Lqa List Lia Bool Arith ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs Ends Family CheckModel CheckFamily Sides States.
Open Scope Z_scope.

(* From above: values that are never negative, or with progress that shows that every policy ends.
   From below, for rewards that are never positive here: negated values, and how errors get smaller. *)
Inductive states :=
| Above (U : nat -> nat -> Z) (ends : option (nat -> nat -> Z))
| Below (L H : nat -> nat -> Z).
Inductive evidence := ByFamily (s : side) | ByStates (P : plan) (x : states).

Definition plan_of (e : evidence) : plan := match e with ByFamily s => splan s | ByStates P _ => P end.

Section Check.
Variable m : model.

Definition at_root (P : plan) (x : states) (e : nat) : Z :=
  match x with Above U _ => U (root P e) e | Below L _ => - L (root P e) e end.
Definition check_progress (P : plan) (g : nat -> nat -> Z) : bool :=
  check_plan m (free P) && check_above m (free P) g (fun _ => 0) (fun _ => 0) 1 &&
  over_copies m (free P) (fun x q => 0 <=? g x q).
Definition check_states (P : plan) (x : states) (r : trans -> Z) (worth : nat -> Z) : bool :=
  check_plan m P && match x with
  | Above U ends => check_above m P U r worth 0 &&
      match ends with Some g => check_progress P g | None => over_copies m P (fun x q => 0 <=? U x q) end
  | Below L H => check_below m P L H (fun t => - r t) (fun k => - worth k)
  end.
Definition check_evidence (ends : bool) (r : trans -> Z) (worth : nat -> Z) (b : Z) (e : evidence) : bool :=
  match e with
  | ByFamily s => check_side m ends r worth b s
  | ByStates P x => check_states P x r worth &&
      (Qle_bool (mean_start m (fun e => inject_Z (at_root P x e))) (inject_Z b) || check_clear m r worth b)
  end.
(* Without a claim. *)
Definition check_rows (r : trans -> Z) (worth : nat -> Z) (e : evidence) : bool :=
  match e with
  | ByFamily s => check_plan m (splan s) && check_family m (splan s) (sfam s) r 0
  | ByStates P x => check_states P x r worth
  end.
End Check.

Open Scope Q_scope.
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

Lemma above_sound0 U r worth : check_above m P U r worth 0 = true -> falls m P r0 (paid r) (state_value P we U worth).
Proof.
  intros H. apply (falls_ext m P we (fun _ t => inject_Z (r t) + 0)); [unfold paid; intros; ring|].
  apply (above_falls m HM P HP we HE U r worth 0 H). intros q a _ _. change (inject_Z 0) with 0. lra.
Qed.

Lemma over_nonneg U worth : over_copies m P (fun x q => 0 <=? U x q)%Z = true -> forall c, ok m P r0 c ->
  stopped worth c <= state_value P we U worth c.
Proof.
  intros H [k|q s] O; [simpl; lra|]. destruct O as (Hq & K & S & F). pose proof (copy_fits m P CL r0 R0 s _ F) as C.
  pose proof (copies_spec m HM P _ _ q H C Hq S) as X. cbv beta in X. apply Z.leb_le in X. simpl. whole.
Qed.

(* Progress in all actions: every policy ends. *)
Lemma progress_ends g pi : check_progress m P g = true -> legal m pi -> exists B, forall n, taken m pi n [] (At e []) <= B.
Proof.
  unfold check_progress. rewrite !andb_true_iff. intros [[HF HG] HN] L.
  pose proof (check_plan_closed m HM (free P) HF) as CF. pose proof (proj1 (root_checked m (free P) HF we HE)) as RF.
  pose proof (start_ok m HM (free P) HF we HE) as OF. destruct (slack_exists m) as [k [K0 HK]].
  pose proof (above_falls m HM (free P) HF we HE g (fun _ => 0%Z) (fun _ => 0%Z) 1 HG k HK) as GF.
  set (G := state_value (free P) we g (fun _ => 0%Z)) in *.
  assert (FO : follows m (free P) (root (free P) e) pi) by (split; auto; intros h q s wi _ _; exact I).
  assert (GN : forall c, ok m (free P) (root (free P) e) c -> 0 <= G c).
  { intros [j|q s] O; [simpl; change (inject_Z 0) with 0; lra|]. destruct O as (Hq & Kq & S & F).
    pose proof (copy_fits m (free P) CF _ RF s _ F) as C. pose proof (copies_spec m HM (free P) _ _ q HN C Hq S) as X.
    cbv beta in X. apply Z.leb_le in X. unfold G, state_value. whole. }
  exists (G (At e []) / k). intros n. pose proof (ev_falls m W (free P) CF _ RF pi FO _ _ GF n [] _ OF) as A.
  assert (B : ev m pi (fun _ _ => k * 1) (fun _ _ => k * 0) n [] (At e []) <=
              ev m pi (fun _ _ => inject_Z 0 + k) (fun _ => G) n [] (At e [])).
  { apply (ev_le m W (free P) CF _ RF pi FO); auto; [intros; change (inject_Z 0) with 0; lra|]. intros h c Oc. specialize (GN c Oc). lra. }
  rewrite (ev_scale m pi k (fun _ _ => 1) (fun _ _ => 0)) in B. fold (taken m pi n [] (At e [])) in B.
  apply Qle_shift_div_l; auto. rewrite Qmult_comm. exact (Qle_trans _ _ _ B A).
Qed.

Lemma states_sound x r worth pi : check_states m P x r worth = true -> follows m P r0 pi ->
  at_most (fun n => ev m pi (paid r) (fun _ => stopped worth) n [] (At e [])) (inject_Z (at_root P x e)).
Proof.
  unfold check_states. rewrite andb_true_iff. intros [_ HX] L. destruct x as [U ends|Lo H]; cbn [at_root].
  - rewrite andb_true_iff in HX. destruct HX as [HU HN]. pose proof (above_sound0 U r worth HU) as GF.
    change (inject_Z (U r0 e)) with (state_value P we U worth (At e [])). destruct ends as [g|].
    + destruct (progress_ends g pi HN (proj1 L)) as [B HB]. destruct (bounded2 U (ncopies P) (nv m)) as [M [M0 HM']].
      apply (upper_limit m W P CL r0 R0 pi L [] _ O0 B HB _ _ _ (inject_Z M)); auto; [whole|].
      intros [k|q s] O; [simpl; lra|]. destruct O as (Hq & K & S & F). destruct (copy_fits m P CL r0 R0 s _ F) as [C _].
      specialize (HM' _ q C Hq). cbn [stopped state_value height]. pose proof (nat_nonneg (length s)).
      assert (- inject_Z M <= inject_Z (U (copy P r0 s) q)) by whole. assert (0 <= inject_Z M) by whole. nra.
    + apply (upper_always m W P CL r0 R0 pi L [] _ O0); auto. now apply over_nonneg.
  - destruct (bounded2 H (ncopies P) (nv m)) as [M [M0 HM']]. destruct (tot_bound m) as [K [K0 HK]].
    set (D := inject_Z (M * K + 1)). assert (HD : 1 <= D) by (unfold D; whole).
    assert (HH : forall x q a, copy_of P x (comp m q) -> (q < nv m)%nat -> In a (acts m q) -> inject_Z (H x q) * inject_Z (tot a) <= D).
    { intros x q a [C _] Hq Ha. specialize (HM' x q C Hq). specialize (HK q a Hq Ha). pose proof (tot_pos m HM q a Hq Ha).
      unfold D. rewrite <- inject_Z_mult, <- Zle_Qle. nia. }
    pose proof (fun n => below_reach m HM P HP we HE Lo H _ _ HX pi L D HD HH n [] e [] O0) as BR. cbn [copy] in BR.
    intros eps He. set (hq := inject_Z (H r0 e)). assert (H0 : 0 <= hq).
    { destruct O0 as (Hq & Kq & S & F). destruct (wf_start m W we HE) as [_ [_ [_ Ce]]]. assert (Rc : copy_of P r0 (comp m e)) by (now rewrite Ce). now destruct (low_numbers m HM P Lo H _ _ HX r0 e Rc Hq S). }
    destruct (Qarchimedean (D * (hq + 1) / eps)) as [p Hp]. exists (Pos.to_nat p). intros n Hn. specialize (BR n). unfold left in BR.
    fold hq in BR. pose proof (qpow_small D n HD) as QS.
    assert (K01 : 0 <= qpow (1 - / D) n <= 1).
    { apply qpow_bounds. assert (I : D * / D == 1) by (field; lra). assert (I0 : 0 <= / D) by (apply Qinv_le_0_compat; lra). nra. }
    set (kn := qpow (1 - / D) n) in *. set (N := inject_Z (Z.of_nat n)) in *.
    assert (E : kn * hq <= eps).
    { assert (PN : inject_Z (Zpos p) <= N) by (unfold N, Qle; simpl; lia).
      assert (D * (hq + 1) / eps * eps == D * (hq + 1)) by (field; lra).
      assert (Z : D * (hq + 1) / eps <= N) by (eapply Qle_trans; [apply Qlt_le_weak; exact Hp|exact PN]).
      assert (D * (hq + 1) / eps * eps <= N * eps) by (apply Qmult_le_compat_r; [exact Z|lra]).
      assert (kn * (hq + 1) * (N + D) <= eps * (N + D)).
      { setoid_replace (kn * (hq + 1) * (N + D)) with (kn * (N + D) * (hq + 1)) by ring.
        assert (kn * (N + D) * (hq + 1) <= D * (hq + 1)) by (apply Qmult_le_compat_r; lra). nra. }
      assert (0 < N + D) by (pose proof (nat_nonneg n) as X; fold N in X; lra).
      assert (kn * (hq + 1) <= eps) by (apply Qmult_le_r with (N + D); auto). lra. }
    assert (X : ev m pi (paid r) (fun _ => stopped worth) n [] (At e []) ==
      -1 * ev m pi (fun _ t => inject_Z (- r t)) (fun _ c => match c with Stop k => inject_Z (- worth k) | At _ _ => 0 end) n [] (At e [])).
    { rewrite <- (ev_scale m pi (-1)). apply ev_ext.
      - intros c t. unfold paid. rewrite inject_Z_opp. ring.
      - intros h [k|q s]; cbn [stopped]; [rewrite inject_Z_opp; ring|ring]. }
    rewrite X, inject_Z_opp. lra.
Qed.
End Sound.
