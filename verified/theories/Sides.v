(* One side of a claim: totals of the policies that follow a plan are at most a bound, or tend to
   minus infinity. Lower ends are upper ends of what is negated. *)
From Coq Require Import QArith Lqa List Lia Bool Arith ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs Ends Family CheckModel CheckFamily.
Open Scope Z_scope.

(* Why bounds of single steps are bounds of totals. *)
Inductive reason :=
| EveryEnds                        (* steps: every policy ends *)
| PlanEnds (one : Z) (f : fam)     (* steps of the policies that follow the plan; one step is worth one *)
| Costs (f : fam)                  (* a potential: who does not end pays infinitely much *)
| Signs.                           (* what is still to come is never worth less than 0 *)
Record side := Side { splan : plan; sfam : fam; sreason : reason }.

Definition free (P : plan) : plan := Plan (ncopies P) (of_comp P) (enters P) (fun _ _ => None) (seen P) (root P).

Section Check.
Variable m : model.

Definition check_steps (P : plan) (one : Z) (f : fam) : bool :=
  (0 <? one) && check_family m P f (fun _ => one) 0 && check_nonneg m P f.
Definition check_potential (P : plan) (f : fam) (r : trans -> Z) : bool :=
  floored f && negb (weighted f) && check_family m P f r 1.
Definition check_reason (ends : bool) (r : trans -> Z) (worth : nat -> Z) (s : side) : bool :=
  match sreason s with
  | EveryEnds => ends
  | PlanEnds one f => check_steps (splan s) one f
  | Costs f => check_potential (splan s) f r
  | Signs => check_floor m (splan s) (sfam s) ||
      (check_nonneg m (splan s) (sfam s) && all_below (nexits m (start_comp m)) (fun k => 0 <=? worth k))
  end.

(* No total is above 0, or above what the best exit is worth, if no action pays. *)
Definition check_clear (r : trans -> Z) (worth : nat -> Z) (b : Z) : bool :=
  (0 <=? b) && all_below (nexits m (start_comp m)) (fun k => worth k <=? b) &&
  all_below (nv m) (fun q => forallb (fun a => zsum (fun t => num t * r t) (outs a) <=? 0) (acts m q)).
Definition mean_start (h : nat -> Q) : Q := qsum (fun we => ((fst we # Z.to_pos (start_tot m)) * h (snd we))%Q) (starts m).
Definition check_side (ends : bool) (r : trans -> Z) (worth : nat -> Z) (b : Z) (s : side) : bool :=
  check_plan m (splan s) && check_family m (splan s) (sfam s) r 0 && check_reason ends r worth s &&
  (Qle_bool (mean_start (worth_of m (splan s) (sfam s) worth)) (inject_Z b) || check_clear r worth b).

(* Infinitely many steps on average, each of which costs. *)
Definition check_returns (P : plan) (f : fam) : bool :=
  all_below (members f) (fun i => all_below (nv m) (fun q => match kind_of m q with
    | Call en => all_below (nexits m (comp m en)) (fun k =>
        negb (comp m (ret m q k) =? of_comp P (copy_at f i))%nat || (0 <=? fw f i (ret m q k)))
    | _ => true end)).
Definition no_base (f : fam) : fam :=
  Fam (members f) (copy_at f) (fw f) (fun _ _ => 0) (fmix f) (begins f) (floored f) (weighted f) (fg f) (gunit f)
    (free_one f) (zero_exit f).
Definition check_growing (P : plan) (f : fam) (r : trans -> Z) : bool :=
  check_family m P (no_base f) r 1 && check_returns P (no_base f).
Definition check_endless (P : plan) (visits losses : fam) (r : trans -> Z) : bool :=
  check_plan m P && check_family m P visits (fun _ => 0) 0 &&
  existsb (fun we => (0 <? fst we) && negb (Qle_bool 0 (worth_of m P visits (fun _ => 0) (snd we)))) (starts m) &&
  (check_potential P losses r || check_growing P losses r).
End Check.

Open Scope Q_scope.
Definition paid (r : trans -> Z) : reward := fun _ t => inject_Z (r t).
Definition stopped (worth : nat -> Z) (c : conf) : Q := match c with Stop k => inject_Z (worth k) | At _ _ => 0 end.
Definition value_at (m : model) (P : plan) (f : fam) (worth : nat -> Q) (e : nat) : conf -> Q :=
  G m ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) (x_begin P f e) worth.

Section Sound.
Variable m : model.
Hypothesis HM : check_model m = true.
Let W := check_model_wf m HM.

(* The denominators of actions are bounded, so that every action has a margin, from one in whole numbers. *)
Lemma tot_bound : exists K, (0 <= K)%Z /\ forall q a, (q < nv m)%nat -> In a (acts m q) -> (tot a <= K)%Z.
Proof.
  destruct (bounded1 (fun q => zsum (fun a => Z.abs (tot a)) (acts m q)) (nv m)) as [K [K0 HK]]. exists K. split; auto.
  intros q a Hq Ha. specialize (HK q Hq). cbv beta in HK. assert (tot a <= zsum (fun a => Z.abs (tot a)) (acts m q))%Z; [|lia].
  clear - Ha. induction (acts m q) as [|b l IH]; [easy|]. simpl.
  assert (0 <= zsum (fun a => Z.abs (tot a)) l)%Z by (clear; induction l as [|y l IH]; simpl; lia).
  destruct Ha as [->|Ha]; [lia|]. specialize (IH Ha). lia.
Qed.

Lemma slack_exists : exists k, 0 < k /\ forall q a, (q < nv m)%nat -> In a (acts m q) -> k * inject_Z (tot a) <= inject_Z 1.
Proof.
  destruct tot_bound as [K [K0 HK]]. destruct (to_pos (K + 1)) as [p [Ep _]]; [lia|]. exists (1 # p). split; [reflexivity|].
  intros q a Hq Ha. specialize (HK q a Hq Ha). whole.
Qed.

Section Plan.
Variable P : plan.
Hypothesis HP : check_plan m P = true.
Let CL := check_plan_closed m HM P HP.
Variable we : Z * nat.
Hypothesis HE : In we (starts m).
Notation e := (snd we).
Notation r0 := (root P (snd we)).
Let R0 : copy_of P r0 (start_comp m) := proj1 (root_checked m P HP we HE).
Let O0 : ok m P r0 (At e []) := start_ok m HM P HP we HE.

Lemma sound0 f r : check_family m P f r 0 = true ->
  family m P ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) (xgood P f) (fun t => inject_Z (r t) + 0).
Proof. intros H. apply (check_family_sound m HM P HP f r 0 H 0). intros q a _ _. change (inject_Z 0) with 0. lra. Qed.

Lemma falls_ext r r' G : (forall c t, r c t == r' c t) -> falls m P r0 r G -> falls m P r0 r' G.
Proof.
  intros E H q s i O Hi A. specialize (H q s i O Hi A). eapply Qle_trans; [|exact H]. apply Qle_lteq. right.
  apply step_ext; intros; [symmetry; apply E|reflexivity].
Qed.

Lemma falls0 f r worth : check_family m P f r 0 = true -> falls m P r0 (paid r) (value_at m P f worth e).
Proof.
  intros H. apply (falls_ext (fun _ t => inject_Z (r t) + 0)); [unfold paid; intros; ring|].
  exact (family_falls m W P CL ctxt _ _ _ snd _ _ _ _ (sound0 f r H) (x_begin P f e) worth (begin_good m P HP f r 0 H we HE)).
Qed.

Lemma nonneg_sound f r worth : check_family m P f r 0 = true -> check_nonneg m P f = true ->
  (forall k, (k < nexits m (start_comp m))%nat -> 0 <= worth k) ->
  forall q s, ok m P r0 (At q s) -> 0 <= value_at m P f worth e (At q s).
Proof.
  intros HF HN Hworth. pose proof (unit_pos m P f r 0 HF) as UP. destruct (to_pos _ UP) as [u [EU TU]].
  assert (CN : forall c x li, xgood P f c x -> In li (fst x) ->
    (nexits m c = O \/ ((zero_exit f (snd x) < nexits m c)%nat /\ (fe f (snd li) (zero_exit f (snd x)) <= 0)%Z)) /\
    (forall q, (q < nv m)%nat -> comp m q = c ->
      ((if weighted f then nzsum (fun k => fg f (snd x) q k * fe f (snd li) k) (nexits m c) else 0) <= gunit f * fw f (snd li) q)%Z)).
  { intros c x li [[Hx Ec] [Hl _]] Hi. destruct (Hl li Hi) as [_ [Hn Hc]].
    pose proof (all_below_spec _ _ HN _ Hn) as X. cbv beta zeta in X. rewrite Hc, Ec in X. apply andb_true_iff in X.
    destruct X as [X1 X2]. split.
    - apply orb_true_iff in X1. destruct X1 as [X1|X1]; [left; now apply Nat.eqb_eq|right]. now split_and.
    - intros q Hq E. rewrite <- E in *. pose proof (over_comp_spec m HM _ q Hq X2) as Y. cbv beta in Y. now apply Z.leb_le. }
  apply (family_nonneg m W P ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) (xgood P f) _ (sound0 f r HF) (x_begin P f e)); auto.
  - exact (begin_good m P HP f r 0 HF we HE).
  - intros x q Hx Hq. unfold xe, xw.
    apply Qle_trans with (mixed (fun i => nsum (fun k => xg f (snd x) q k * inject_Z (fe f i k)) (nexits m (comp m q))) (fst x)).
    + apply Qle_lteq. right. unfold mixed, nsum.
      rewrite (qsum_eq _ (fun k => qsum (fun li => fst li * (xg f (snd x) q k * inject_Z (fe f (snd li) k))) (fst x))).
      * rewrite qsum_swap. apply qsum_eq. intros li _. now rewrite qsum_scale.
      * intros k _. rewrite <- qsum_scale. apply qsum_eq. intros; ring.
    + apply qsum_le. intros li Hi. destruct (CN _ x li Hx Hi) as [_ B]. specialize (B q Hq eq_refl).
      destruct Hx as [_ [Hl _]]. destruct (Hl li Hi) as [H0 _].
      assert (A : nsum (fun k => xg f (snd x) q k * inject_Z (fe f (snd li) k)) (nexits m (comp m q)) <= inject_Z (fw f (snd li) q)); [|nra].
      unfold xg. destruct (weighted f).
      * rewrite TU, nsum_z0. rewrite EU in B. set (y := nzsum _ _) in *. clearbody y. whole.
      * rewrite (nsum_eq _ (fun _ => 0)) by (intros; ring). unfold nsum. rewrite qsum_0. rewrite EU in B. whole.
  - intros x c Hx. destruct (fst x) as [|l1 l] eqn:EL.
    + destruct Hx as [_ [_ H1]]. rewrite EL in H1. cbn [qsum] in H1. lra.
    + assert (I1 : In l1 (fst x)) by (rewrite EL; now left). destruct (CN c x l1 Hx I1) as [[N|[Z0 _]] _]; [now left|].
      right. exists (zero_exit f (snd x)). split; auto. unfold xe, mixed. pose proof Hx as [_ [Hl H1]]. apply (mean_le fst); auto; intros li Hi.
      * destruct (Hl li Hi) as [H0 _]; auto.
      * destruct (CN c x li Hx Hi) as [[N|[_ E0]] _]; [rewrite N in Z0; lia|]. whole.
Qed.

(* From below, linear in the height. *)
Lemma low_sound f r (worth : nat -> Z) : check_family m P f r 0 = true -> exists C, 0 <= C /\
  forall c, ok m P r0 c -> stopped worth c <= value_at m P f (fun k => inject_Z (worth k)) e c + C * height c.
Proof.
  intros HF. destruct (family_bounds m P HP f) as [M [M0 [Hw He]]].
  destruct (bounded1 worth (nexits m (start_comp m))) as [B [B0 HB]].
  exists (4 * (M + inject_Z B)). assert (BQ : 0 <= inject_Z B) by whole. split; [lra|]. intros [k|q s] O.
  - cbn [stopped height]. unfold value_at. cbn [G]. lra.
  - pose proof (family_low m W P ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) (xgood P f) _ (sound0 f r HF) (x_begin P f e)
      (fun k => inject_Z (worth k)) (begin_good m P HP f r 0 HF we HE) (M + inject_Z B)) as L.
    cbn [stopped]. assert (X : - (4 * (M + inject_Z B)) * height (At q s) <= value_at m P f (fun k => inject_Z (worth k)) e (At q s)).
    { apply L; auto; [lra| | |].
      - intros x q0 Hx Hq. specialize (Hw x q0 Hx Hq). lra.
      - intros x c k Hx Hk. specialize (He x c k Hx Hk). lra.
      - intros k Hk. specialize (HB k Hk). assert (- inject_Z B <= inject_Z (worth k)) by whole. lra. }
    lra.
Qed.

(* Steps: E[min(T, n)] is bounded for all policies that follow the plan. *)
Lemma steps_sound one f : check_steps m P one f = true ->
  exists B, forall pi, follows m P r0 pi -> forall n, taken m pi n [] (At e []) <= B.
Proof.
  unfold check_steps. rewrite !andb_true_iff. intros [[HO HF] HN]. apply Z.ltb_lt in HO.
  set (r := fun _ : trans => one) in *. set (g := value_at m P f (fun _ => 0) e).
  assert (GN : forall c, ok m P r0 c -> 0 <= g c).
  { intros [k|q s] O; [unfold g, value_at; cbn [G]; lra|]. apply (nonneg_sound f r); auto. intros; lra. }
  pose proof (falls0 f r (fun _ => 0) HF) as GF. fold g in GF.
  assert (OQ : 0 < inject_Z one) by (unfold Qlt, inject_Z; cbn [Qnum Qden]; lia).
  exists (g (At e []) / inject_Z one). intros pi L n.
  pose proof (ev_falls m W P CL r0 R0 pi L _ _ GF n [] _ O0) as A.
  assert (B : ev m pi (fun _ _ => inject_Z one * 1) (fun _ _ => inject_Z one * 0) n [] (At e []) <=
              ev m pi (paid r) (fun _ => g) n [] (At e [])).
  { apply (ev_le m W P CL r0 R0 pi L); auto; [unfold paid, r; intros; lra|]. intros h c Oc. specialize (GN c Oc). lra. }
  rewrite (ev_scale m pi (inject_Z one) (fun _ _ => 1) (fun _ _ => 0)) in B.
  fold (taken m pi n [] (At e [])) in B. apply Qle_shift_div_l; auto. lra.
Qed.

(* A potential falls by some k in every step, and is bounded from below. *)
Definition loses (r : trans -> Z) (worth : nat -> Z) (Phi : conf -> Q) (A k : Q) : Prop :=
  0 < k /\ falls m P r0 (fun c t => paid r c t + k) Phi /\ (forall c, ok m P r0 c -> stopped worth c - A <= Phi c).

Lemma potential_sound f r worth : check_potential m P f r = true ->
  exists A k, loses r worth (value_at m P f (fun k => inject_Z (worth k)) e) A k.
Proof.
  unfold check_potential. rewrite !andb_true_iff. intros [[HFl HW] HF]. apply negb_true_iff in HW.
  destruct slack_exists as [k [K0 HK]]. pose proof (check_family_sound m HM P HP f r 1 HF k HK) as FS.
  destruct (family_bounds m P HP f) as [M [M0 [Hw _]]]. exists M, k. split; [exact K0|]. split.
  - exact (family_falls m W P CL ctxt _ _ _ snd _ _ _ _ FS (x_begin P f e) _ (begin_good m P HP f r 1 HF we HE)).
  - intros [j|q s] O; [unfold value_at; cbn [stopped G]; lra|]. cbn [stopped].
    assert (X : - M <= value_at m P f (fun k => inject_Z (worth k)) e (At q s)); [|lra].
    apply (family_floor m P ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) (xgood P f) _ FS); auto.
    + exact (begin_good m P HP f r 1 HF we HE).
    + intros x q0 l _ _. unfold xg. now rewrite HW.
Qed.

Lemma growing_sound f r worth : check_growing m P f r = true ->
  exists A k, loses r worth (value_at m P (no_base f) (fun k => inject_Z (worth k)) e) A k.
Proof.
  unfold check_growing. rewrite andb_true_iff. intros [HF HR]. set (f0 := no_base f) in *.
  destruct slack_exists as [k [K0 HK]]. pose proof (check_family_sound m HM P HP f0 r 1 HF k HK) as FS.
  destruct (family_bounds m P HP f0) as [M [M0 [Hw _]]]. destruct (bounded1 worth (nexits m (start_comp m))) as [B [B0 HB]].
  assert (BQ : 0 <= inject_Z B) by whole. exists (M + inject_Z B), k. split; [exact K0|].
  pose proof (begin_good m P HP f0 r 1 HF we HE) as BG. split.
  - exact (family_falls m W P CL ctxt _ _ _ snd _ _ _ _ FS (x_begin P f0 e) _ BG).
  - intros [j|q s] O; [unfold value_at; cbn [stopped G]; lra|]. cbn [stopped].
    assert (X : - inject_Z B - M <= value_at m P f0 (fun k => inject_Z (worth k)) e (At q s)); [|lra].
    apply (family_returns m W P ctxt (xw f0) (xe f0) (xnext P f0) snd (xg f0) (floored f0) (xgood P f0) _ FS); auto.
    + intros x q0 j. split; [|apply Hw]. unfold xe, mixed. cbn [fe f0 no_base]. rewrite <- (qsum_0 (fst x)).
      apply qsum_eq. intros; ring.
    + intros x p en j Hx Hp K Hj. destruct (wf_call m W p en Hp K) as [_ [_ RT]]. destruct (RT j Hj) as [_ [_ E]].
      destruct Hx as [[_ C] [Hl _]]. unfold xw, mixed. apply qsum_nonneg. intros li Hi. destruct (Hl li Hi) as [H0 [Hn Hc]].
      pose proof (all_below_spec _ _ HR _ Hn) as X. cbv beta in X. pose proof (all_below_spec _ _ X _ Hp) as Y. cbv beta in Y.
      rewrite K in Y. pose proof (all_below_spec _ _ Y _ Hj) as Z. cbv beta in Z. rewrite Hc, C, E, Nat.eqb_refl in Z.
      cbn [negb orb] in Z. apply Z.leb_le in Z. assert (0 <= inject_Z (fw f0 (snd li) (ret m p j))) by whole. nra.
    + lra.
    + intros j Hj. specialize (HB j Hj). whole.
Qed.

(* Why bounds of single steps are bounds of totals, for one entry. *)
Lemma reason_sound ends r worth f why pi : check_family m P f r 0 = true ->
  check_reason m ends r worth (Side P f why) = true ->
  (ends = true -> exists B, forall n, taken m pi n [] (At e []) <= B) -> follows m P r0 pi ->
  at_most (fun n => ev m pi (paid r) (fun _ => stopped worth) n [] (At e [])) (worth_of m P f worth e).
Proof.
  intros HF HR HB L. set (g := value_at m P f (fun k => inject_Z (worth k)) e).
  change (worth_of m P f worth e) with (g (At e [])).
  pose proof (falls0 f r (fun k => inject_Z (worth k)) HF) as GF. fold g in GF.
  destruct (low_sound f r worth HF) as [C [C0 HC]]. fold g in HC.
  unfold check_reason in HR. cbn [sreason splan sfam] in HR. destruct why as [|one d|h|].
  - destruct (HB HR) as [B HB']. exact (upper_limit m W P CL r0 R0 pi L [] _ O0 B HB' _ g _ C GF C0 HC).
  - destruct (steps_sound one d HR) as [B HB']. exact (upper_limit m W P CL r0 R0 pi L [] _ O0 B (HB' pi L) _ g _ C GF C0 HC).
  - destruct (potential_sound h r worth HR) as [A [k [K0 [PF PA]]]].
    exact (costs m W P CL r0 R0 pi L [] _ O0 _ _ _ A k K0 PF PA g C GF C0 HC).
  - apply (upper_always m W P CL r0 R0 pi L [] _ O0 _ g); auto. intros [k|q s] O; [unfold g, value_at; cbn [stopped G]; lra|].
    cbn [stopped]. apply orb_true_iff in HR. destruct HR as [HR|HR].
    + unfold check_floor in HR. rewrite !andb_true_iff in HR. destruct HR as [[HFl HW] HN]. apply negb_true_iff in HW.
      apply (family_floor m P ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) (xgood P f) _ (sound0 f r HF)); auto.
      * exact (begin_good m P HP f r 0 HF we HE).
      * intros x q0 l _ _. unfold xg. now rewrite HW.
      * intros x q0 [[Hx Ec] [Hl _]] Hq S. unfold xw, mixed. apply qsum_nonneg. intros li Hi. destruct (Hl li Hi) as [H0 [Hn Hc]].
        pose proof (all_below_spec _ _ HN _ Hn) as X. cbv beta zeta in X. rewrite Hc, Ec in X.
        pose proof (over_comp_spec m HM _ q0 Hq X) as Y. cbv beta in Y. rewrite S in Y. cbn [negb orb] in Y. apply Z.leb_le in Y.
        assert (0 <= inject_Z (fw f (snd li) q0)) by whole. nra.
    + apply andb_true_iff in HR. destruct HR as [HN HR]. apply (nonneg_sound f r); auto. intros k Hk.
      pose proof (all_below_spec _ _ HR k Hk) as X. cbv beta in X. apply Z.leb_le in X. whole.
Qed.

(* Infinitely many steps on average. *)
Lemma visits_sound visits pi : check_family m P visits (fun _ => 0%Z) 0 = true -> worth_of m P visits (fun _ => 0%Z) e < 0 ->
  follows m P r0 pi -> forall B, exists n, B < taken m pi n [] (At e []).
Proof.
  intros HF H0 L. destruct (low_sound visits (fun _ => 0%Z) (fun _ => 0%Z) HF) as [C [C0 HC]].
  apply (never_ends m W P CL r0 R0 pi L [] _ O0 (value_at m P visits (fun k => inject_Z 0) e) C C0 H0).
  - apply (falls_ext (paid (fun _ => 0%Z))); [intros; reflexivity|]. exact (falls0 visits _ _ HF).
  - intros c O. specialize (HC c O). destruct c; exact HC.
Qed.

Lemma losses_sound losses r worth : check_potential m P losses r || check_growing m P losses r = true ->
  exists A k Phi, loses r worth Phi A k.
Proof.
  rewrite orb_true_iff. intros [H|H].
  - destruct (potential_sound losses r worth H) as [A [k X]]. eauto.
  - destruct (growing_sound losses r worth H) as [A [k X]]. eauto.
Qed.
End Plan.
End Sound.
