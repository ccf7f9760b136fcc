(* The check of families, in whole numbers, and its soundness. *)
From Coq Require Import QArith Lqa List Lia Bool Arith ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs Ends Family CheckModel.
Open Scope Z_scope.

(* Members belong to copies of a plan, and have numbers; weights are those of the copies. A mix is a
   total with weights and members; at calls and at entries in which runs begin. *)
Record fam := Fam {
  members : nat;
  copy_at : nat -> nat;
  fw : nat -> nat -> Z;
  fe : nat -> nat -> Z;
  fmix : nat -> nat -> Z * list (Z * nat);
  begins : nat -> Z * list (Z * nat);
  floored : bool;
  weighted : bool;                    (* without weights, all of them are 0 *)
  fg : nat -> nat -> nat -> Z;        (* copy, vertex, exit *)
  gunit : Z;
  free_one : bool;                    (* whether weights in components with one exit are free *)
  zero_exit : nat -> nat
}.

Section Check.
Variable m : model.
Variable P : plan.
Variable f : fam.
Variable r : trans -> Z.
Variable margin : Z.

Definition mix_at (h : nat -> Z) (parts : list (Z * nat)) : Z := zsum (fun nj => fst nj * h (snd nj)) parts.
Definition check_mix (x : nat) (mx : Z * list (Z * nat)) : bool :=
  (0 <? fst mx) && (zsum fst (snd mx) =? fst mx) &&
  forallb (fun nj => (0 <=? fst nj) && (snd nj <? members f)%nat && (copy_at f (snd nj) =? x)%nat) (snd mx).

Definition check_weights_at (x q : nat) : bool :=
  let n := nexits m (comp m q) in let gs := fg f x q in
  all_below n (fun l => 0 <=? gs l) && (nzsum gs n <=? gunit f) &&
  (negb (seen P x q) || ((n =? 1)%nat && free_one f && negb (floored f)) ||
   match kind_of m q with
   | State => each_action m P x q (fun a => all_below n (fun l =>
       tot a * gs l <=? zsum (fun t => num t * fg f x (tgt t) l) (outs a)))
   | Exit k => all_below n (fun l => gs l <=? if (l =? k)%nat then gunit f else 0)
   | Call en => let y := enters P x q in let n' := nexits m (comp m en) in
       all_below n (fun l => gunit f * gs l <=? nzsum (fun k => fg f y en k * fg f x (ret m q k) l) n')
   end).
Definition check_weights : bool :=
  negb (weighted f) || all_below (ncopies P) (fun x => over_comp m (of_comp P x) (check_weights_at x)).

Definition check_row (i q : nat) : bool :=
  let x := copy_at f i in
  negb (seen P x q) ||
  match kind_of m q with
  | State => each_action m P x q (fun a =>
      zsum (fun t => num t * (r t + fw f i (tgt t))) (outs a) + margin <=? tot a * fw f i q)
  | Exit k => fe f i k <=? fw f i q
  | Call en => let mx := fmix f i q in let y := enters P x q in let n' := nexits m (comp m en) in
      (floored f || negb (n' =? 0)%nat) && check_mix y mx &&
      (gunit f * mix_at (fun j => fw f j en) (snd mx) +
       zrise (floored f) (weighted f) (gunit f) (fg f y en)
         (fun k => fst mx * fw f i (ret m q k) - mix_at (fun j => fe f j k) (snd mx)) n'
       <=? gunit f * (fst mx * fw f i q))
  end.
Definition check_family : bool :=
  (0 <? gunit f) && check_weights &&
  forallb (fun we => check_mix (root P (snd we)) (begins f (snd we))) (starts m) &&
  all_below (members f) (fun i =>
    (copy_at f i <? ncopies P)%nat && over_comp m (of_comp P (copy_at f i)) (check_row i)).

(* Whether values are never below 0. *)
Definition check_nonneg : bool :=
  all_below (members f) (fun i => let x := copy_at f i in let c := of_comp P x in let z := zero_exit f x in
    let n := nexits m c in
    ((n =? 0)%nat || ((z <? n)%nat && (fe f i z <=? 0))) &&
    over_comp m c (fun q =>
      (if weighted f then nzsum (fun k => fg f x q k * fe f i k) n else 0) <=? gunit f * fw f i q)).
Definition check_floor : bool :=
  floored f && negb (weighted f) &&
  all_below (members f) (fun i => let x := copy_at f i in
    over_comp m (of_comp P x) (fun q => negb (seen P x q) || (0 <=? fw f i q))).
End Check.

(* Contexts are mixes of members of one copy. *)
Open Scope Q_scope.
Definition ctxt : Type := (list (Q * nat) * nat)%type.
Definition mixed (h : nat -> Q) (l : list (Q * nat)) : Q := qsum (fun li => fst li * h (snd li)) l.
Definition xw (f : fam) (x : ctxt) (q : nat) : Q := mixed (fun i => inject_Z (fw f i q)) (fst x).
Definition xe (f : fam) (x : ctxt) (k : nat) : Q := mixed (fun i => inject_Z (fe f i k)) (fst x).
Definition xg (f : fam) (x q l : nat) : Q := if weighted f then fg f x q l # Z.to_pos (gunit f) else 0.
Definition qmix (mx : Z * list (Z * nat)) : list (Q * nat) :=
  map (fun nj => (fst nj # Z.to_pos (fst mx), snd nj)) (snd mx).
Definition xnext (P : plan) (f : fam) (x : ctxt) (p : nat) : ctxt :=
  (flat_map (fun li => map (fun mj => (fst li * fst mj, snd mj)) (qmix (fmix f (snd li) p))) (fst x), enters P (snd x) p).
Definition xgood (P : plan) (f : fam) (c : nat) (x : ctxt) : Prop :=
  copy_of P (snd x) c /\
  (forall li, In li (fst x) -> 0 <= fst li /\ (snd li < members f)%nat /\ copy_at f (snd li) = snd x) /\
  qsum fst (fst x) == 1.
Definition x_begin (P : plan) (f : fam) (e : nat) : ctxt := (qmix (begins f e), root P e).
(* The value at an entry in which runs begin. *)
Definition worth_of (m : model) (P : plan) (f : fam) (worth : nat -> Z) (e : nat) : Q :=
  V m ctxt (xw f) (xe f) snd (xg f) (floored f) (x_begin P f e) (fun k => inject_Z (worth k)) e.

Section Sound.
Variable m : model.
Hypothesis HM : check_model m = true.
Variable P : plan.
Hypothesis HP : check_plan m P = true.
Variable f : fam.
Variable r : trans -> Z.
Variable margin : Z.
Hypothesis HF : check_family m P f r margin = true.
Variable slack : Q.
Hypothesis HS : forall q a, (q < nv m)%nat -> In a (acts m q) -> slack * inject_Z (tot a) <= inject_Z margin.
Notation good := (xgood P f).

Lemma unit_pos : (0 < gunit f)%Z.
Proof. unfold check_family in HF. now split_and. Qed.

Lemma weights_checked x q : weighted f = true -> copy_of P x (comp m q) -> (q < nv m)%nat -> check_weights_at m P f x q = true.
Proof.
  intros Hw [Hx E] Hq. unfold check_family, check_weights in HF. rewrite Hw in HF. cbn [negb orb] in HF.
  rewrite !andb_true_iff in HF. destruct HF as [[[_ H] _] _]. pose proof (all_below_spec _ _ H x Hx) as X.
  cbv beta in X. rewrite E in X. now apply (over_comp_spec m HM).
Qed.

Lemma row_checked i q : (i < members f)%nat -> copy_of P (copy_at f i) (comp m q) -> (q < nv m)%nat ->
  seen P (copy_at f i) q = true ->
  match kind_of m q with
  | State => each_action m P (copy_at f i) q (fun a =>
      zsum (fun t => num t * (r t + fw f i (tgt t))) (outs a) + margin <=? tot a * fw f i q)%Z
  | Exit k => (fe f i k <=? fw f i q)%Z
  | Call en => let mx := fmix f i q in let y := enters P (copy_at f i) q in let n' := nexits m (comp m en) in
      (floored f || negb (n' =? 0)%nat) && check_mix f y mx &&
      (gunit f * mix_at (fun j => fw f j en) (snd mx) +
       zrise (floored f) (weighted f) (gunit f) (fg f y en)
         (fun k => fst mx * fw f i (ret m q k) - mix_at (fun j => fe f j k) (snd mx)) n'
       <=? gunit f * (fst mx * fw f i q))%Z
  end = true.
Proof.
  intros Hi [_ E] Hq S. unfold check_family in HF. rewrite !andb_true_iff in HF. destruct HF as [_ H].
  pose proof (all_below_spec _ _ H i Hi) as X. cbv beta in X. rewrite andb_true_iff in X. destruct X as [_ X].
  rewrite E in X. pose proof (over_comp_spec m HM _ q Hq X) as Y. unfold check_row in Y. cbv zeta in Y. now rewrite S in Y.
Qed.

Lemma mixed_next h x p : mixed h (fst (xnext P f x p)) == qsum (fun li => fst li * mixed h (qmix (fmix f (snd li) p))) (fst x).
Proof.
  unfold mixed, xnext; cbn [fst]. rewrite qsum_flat_map. apply qsum_eq. intros li _.
  rewrite qsum_map, <- qsum_scale. apply qsum_eq. intros; cbn [fst snd]; ring.
Qed.

Lemma mixed_qmix (h : nat -> Z) mx : mixed (fun j => inject_Z (h j)) (qmix mx) == (mix_at h (snd mx) # Z.to_pos (fst mx)).
Proof. unfold mixed, qmix, mix_at. rewrite qsum_map. cbn [fst snd]. apply qsum_z0. Qed.

Lemma mix_good x c mx : copy_of P x c -> check_mix f x mx = true -> (0 < fst mx)%Z /\ good c (qmix mx, x).
Proof.
  unfold check_mix. intros C H. split_and. split; auto. split; [exact C|]. split; cbn [fst snd].
  - intros li Hi. unfold qmix in Hi. apply in_map_iff in Hi. destruct Hi as [nj [<- Hj]]. cbn [fst snd].
    match goal with H : forall x, In x _ -> _ |- _ => specialize (H nj Hj) end. split_and. repeat split; auto.
    unfold Qle; cbn [Qnum Qden]. lia.
  - unfold qmix. rewrite qsum_map. cbn [fst]. now apply sum_is_one.
Qed.

Lemma begin_good we : In we (starts m) -> good (start_comp m) (x_begin P f (snd we)).
Proof.
  intros Hw. destruct (root_checked m P HP we Hw) as [C _]. unfold check_family in HF.
  rewrite !andb_true_iff in HF. destruct HF as [[_ H] _]. rewrite forallb_forall in H. specialize (H we Hw).
  exact (proj2 (mix_good _ _ _ C H)).
Qed.

(* Numbers of contexts, from those of their members. *)
Lemma mean_of c x (h h' : nat -> Q) : good c x ->
  (forall i, (i < members f)%nat -> copy_at f i = snd x -> h i <= h' i) -> mixed h (fst x) <= mixed h' (fst x).
Proof.
  intros [_ [Hl _]] Hh. apply qsum_le. intros li Hi. destruct (Hl li Hi) as [H0 [Hn Hc]]. specialize (Hh _ Hn Hc). nra.
Qed.

Lemma mean_bound c x (h : nat -> Z) B : good c x -> (forall i, (i < members f)%nat -> (Z.abs (h i) <= B)%Z) ->
  - inject_Z B <= mixed (fun i => inject_Z (h i)) (fst x) <= inject_Z B.
Proof.
  intros [_ [Hl H1]] HB. split.
  - apply (mean_ge fst); auto; intros li Hi; destruct (Hl li Hi) as [H0 [Hn _]]; auto. specialize (HB _ Hn). whole.
  - apply (mean_le fst); auto; intros li Hi; destruct (Hl li Hi) as [H0 [Hn _]]; auto. specialize (HB _ Hn). whole.
Qed.

Lemma weight_irrelevant n : ((n =? 1)%nat && free_one f && negb (floored f)) = true -> irrelevant (floored f) n.
Proof. intros H. split_and. split; auto. now apply negb_true_iff. Qed.

Lemma state_row x q i : good (comp m q) x -> (q < nv m)%nat -> kind_of m q = State ->
  seen P (snd x) q = true -> (i < length (acts m q))%nat -> allowed P (snd x) q i ->
  qsum (fun t => prob (act m q i) t * (inject_Z (r t) + slack + xw f x (tgt t))) (outs (act m q i)) <= xw f x q.
Proof.
  intros Hx Hq K S Hi Al. set (a := act m q i). pose proof (nth_In (acts m q) no_action Hi : In a (acts m q)) as Ha.
  destruct (to_pos _ (tot_pos m HM q a Hq Ha)) as [T [ET TT]]. pose proof Hx as [Cx [Hl H1]].
  apply Qle_trans with (mixed (fun j => qsum (fun t => prob a t * inject_Z (r t + fw f j (tgt t))) (outs a) + slack) (fst x)).
  - apply Qle_lteq. right. unfold mixed.
    rewrite (qsum_eq (fun li => fst li * _) (fun li => qsum (fun t => fst li * (prob a t * inject_Z (r t + fw f (snd li) (tgt t)))) (outs a) + fst li * slack))
      by (intros; rewrite qsum_scale; ring).
    rewrite qsum_plus, qsum_swap, qsum_scale_r, H1.
    assert (E : 1 * slack == qsum (fun t => prob a t * slack) (outs a)).
    { rewrite qsum_scale_r. unfold a. rewrite (prob_sum m (check_model_wf m HM) q i Hq Hi). ring. }
    rewrite E, <- qsum_plus. apply qsum_eq. intros t _. unfold xw, mixed.
    assert (E' : inject_Z (r t) == qsum fst (fst x) * inject_Z (r t)) by (rewrite H1; ring).
    rewrite E', <- qsum_scale_r.
    assert (E2 : forall u v s p : Q, p * (u + s + v) == p * (u + v) + p * s) by (intros; ring).
    rewrite E2. apply Qplus_comp; [|reflexivity].
    rewrite <- qsum_plus, <- qsum_scale. apply qsum_eq. intros li _. rewrite inject_Z_plus. ring.
  - apply (mean_of _ _ _ _ Hx). intros j Hj Hc. rewrite <- Hc in Cx, S, Al.
    pose proof (row_checked j q Hj Cx Hq S) as R. rewrite K in R.
    pose proof (each_action_spec m P _ q _ i R Hi Al) as C. fold a in C. cbv beta in C. apply Z.leb_le in C.
    specialize (HS q a Hq Ha). unfold prob. rewrite TT, qsum_z0. rewrite ET in C, HS. set (y := zsum _ _) in *.
    assert (A : slack <= margin # T).
    { apply Qmult_le_r with (inject_Z (Zpos T)); [whole|]. eapply Qle_trans; [exact HS|]. whole. }
    assert (B : (y # T) + (margin # T) <= inject_Z (fw f j q)).
    { rewrite Qinv_plus_distr. clearbody y. whole. }
    lra.
Qed.

Lemma call_row x q en : good (comp m q) x -> (q < nv m)%nat -> kind_of m q = Call en -> seen P (snd x) q = true ->
  good (comp m en) (xnext P f x q) /\ (nexits m (comp m en) = O -> floored f = true) /\
  xw f (xnext P f x q) en + rise (floored f) (xg f (enters P (snd x) q) en)
    (excess ctxt (xe f) (xnext P f x q) (fun k => xw f x (ret m q k))) (nexits m (comp m en)) <= xw f x q.
Proof.
  intros Hx Hq K S. pose proof Hx as [Cx [Hl H1]]. pose proof (check_plan_closed m HM P HP) as CL.
  pose proof (check_model_wf m HM) as W. destruct (wf_call m W q en Hq K) as [He _].
  destruct (cl_call m P CL (snd x) q en Cx Hq K S) as [Cy _]. set (y := enters P (snd x) q) in *.
  set (n' := nexits m (comp m en)) in *.
  assert (ROW : forall j, (j < members f)%nat -> copy_at f j = snd x ->
    ((floored f || negb (n' =? 0)%nat) = true /\ check_mix f y (fmix f j q) = true) /\
    (gunit f * mix_at (fun j => fw f j en) (snd (fmix f j q)) +
       zrise (floored f) (weighted f) (gunit f) (fg f y en)
         (fun k => fst (fmix f j q) * fw f j (ret m q k) - mix_at (fun j => fe f j k) (snd (fmix f j q))) n'
       <= gunit f * (fst (fmix f j q) * fw f j q))%Z).
  { intros j Hj Hc. unfold y. rewrite <- Hc in Cx, S |- *. pose proof (row_checked j q Hj Cx Hq S) as R. rewrite K in R.
    cbv zeta in R. rewrite !andb_true_iff in R. destruct R as [R1 R2]. apply Z.leb_le in R2. now split. }
  assert (GX : good (comp m en) (xnext P f x q)).
  { split; [exact Cy|]. split.
    - intros mj Hj. unfold xnext in Hj. cbn [fst] in Hj. apply in_flat_map in Hj. destruct Hj as [li [Hi Hj]].
      apply in_map_iff in Hj. destruct Hj as [mj' [<- Hj]]. cbn [fst snd xnext].
      destruct (Hl li Hi) as (H0 & Hn & Hc). destruct (ROW _ Hn Hc) as [[_ R] _].
      destruct (mix_good _ _ _ Cy R) as [_ [_ [Gm _]]]. destruct (Gm mj' Hj) as (A & B & D). cbn [snd] in D.
      repeat split; auto. nra.
    - unfold xnext. cbn [fst]. rewrite qsum_flat_map. rewrite <- H1. apply qsum_eq. intros li Hi.
      rewrite qsum_map. cbn [fst]. rewrite qsum_scale. destruct (Hl li Hi) as (H0 & Hn & Hc).
      destruct (ROW _ Hn Hc) as [[_ R] _]. destruct (mix_good _ _ _ Cy R) as [_ [_ [_ S1]]]. cbn [fst] in S1. rewrite S1. ring. }
  split; [exact GX|]. split.
  { intros N. destruct (fst x) as [|li l] eqn:EL; [cbn [qsum] in H1; lra|].
    destruct (Hl li (or_introl eq_refl)) as (_ & Hn & Hc). destruct (ROW _ Hn Hc) as [[R _] _]. rewrite N in R.
    destruct (floored f); [reflexivity|discriminate]. }
  pose proof unit_pos as UP. destruct (to_pos _ UP) as [u [EU TU]].
  set (t := fun i k => inject_Z (fw f i (ret m q k)) - mixed (fun j => inject_Z (fe f j k)) (qmix (fmix f i q))).
  assert (EX : forall k, excess ctxt (xe f) (xnext P f x q) (fun k => xw f x (ret m q k)) k ==
    qsum (fun li => fst li * t (snd li) k) (fst x)).
  { intros k. unfold excess, xe. rewrite mixed_next. unfold xw, mixed at 1.
    transitivity (qsum (fun li => fst li * inject_Z (fw f (snd li) (ret m q k))) (fst x)
      + -1 * qsum (fun li => fst li * mixed (fun j => inject_Z (fe f j k)) (qmix (fmix f (snd li) q))) (fst x)); [ring|].
    rewrite <- qsum_scale, <- qsum_plus. apply qsum_eq. intros; unfold t; ring. }
  rewrite (rise_ext _ _ _ _ n' (fun k _ => EX k)).
  assert (G1 : nsum (xg f y en) n' <= 1).
  { unfold xg. destruct (weighted f) eqn:Hw.
    - pose proof (weights_checked y en Hw Cy He) as X. unfold check_weights_at in X. cbv zeta in X.
      rewrite !andb_true_iff in X. destruct X as [[_ X] _]. apply Z.leb_le in X. fold n' in X. rewrite TU.
      rewrite nsum_z1. rewrite EU in X. set (z := nzsum _ _) in *. clearbody z. whole.
    - assert (Z0 : nsum (fun _ => 0) n' == 0) by apply qsum_0. rewrite Z0. lra. }
  assert (L0 : forall li, In li (fst x) -> 0 <= fst li) by (intros li Hi; destruct (Hl li Hi) as (A & _); auto).
  eapply Qle_trans; [apply Qplus_le_compat; [apply Qle_refl|exact (rise_mean (floored f) (xg f y en) n' (fst x) t G1 L0)]|].
  unfold xw at 1. rewrite mixed_next, <- qsum_plus. unfold xw, mixed at 2. apply qsum_le. intros li Hi.
  destruct (Hl li Hi) as (H0 & Hn & Hc). destruct (ROW _ Hn Hc) as [[_ R] C].
  destruct (mix_good _ _ _ Cy R) as [N0 _]. set (mx := fmix f (snd li) q) in *. destruct (to_pos _ N0) as [N [EN TN]].
  assert (A : mixed (fun j => inject_Z (fw f j en)) (qmix mx) + rise (floored f) (xg f y en) (t (snd li)) n' <= inject_Z (fw f (snd li) q)); [|nra].
  rewrite mixed_qmix, TN.
  set (tz := fun k => (fst mx * fw f (snd li) (ret m q k) - mix_at (fun j => fe f j k) (snd mx))%Z) in *.
  assert (ET : forall k, (k < n')%nat -> t (snd li) k == (tz k # N)).
  { intros k _. unfold t, tz. fold mx. rewrite mixed_qmix, TN, EN. same_fraction. }
  rewrite (rise_ext _ _ _ (fun k => tz k # N) n' ET).
  assert (RZ : rise (floored f) (xg f y en) (fun k => tz k # N) n' == (zrise (floored f) (weighted f) (gunit f) (fg f y en) tz n' # (u * N))).
  { rewrite EU. unfold xg. destruct (weighted f); [rewrite TU; apply rise_z|]. apply rise_z0. }
  rewrite RZ. set (a := zrise _ _ _ _ _ _) in *. set (b := mix_at _ _) in *. rewrite EU, EN in C. clearbody a b. clear - C. whole.
Qed.

Theorem check_family_sound :
  family m P ctxt (xw f) (xe f) (xnext P f) snd (xg f) (floored f) good (fun t => inject_Z (r t) + slack).
Proof.
  pose proof unit_pos as UP. destruct (to_pos _ UP) as [u [EU TU]].
  assert (WT : forall x q, good (comp m q) x -> (q < nv m)%nat -> weighted f = true ->
    check_weights_at m P f (snd x) q = true) by (intros x q [C _] Hq Hw; apply weights_checked; auto).
  split.
  - intros c x [C _]. exact C.
  - intros x q i Hx Hq K S Hi Al. split; [now apply state_row|]. intros l Hl. unfold xg. destruct (weighted f) eqn:Hw.
    + pose proof (WT x q Hx Hq eq_refl) as X. unfold check_weights_at in X. cbv zeta in X. rewrite S, K in X. cbn [negb orb] in X.
      rewrite !andb_true_iff in X. destruct X as [_ X]. apply orb_true_iff in X. destruct X as [X|X]; [left; now apply weight_irrelevant|right].
      pose proof (each_action_spec m P _ q _ i X Hi Al) as Y. cbv beta in Y. pose proof (all_below_spec _ _ Y l Hl) as Z. cbv beta in Z. apply Z.leb_le in Z.
      set (a := act m q i) in *. destruct (to_pos _ (tot_pos m HM q a Hq (nth_In _ _ Hi))) as [T [ET TT]].
      unfold prob. rewrite TT, TU, qsum_z. rewrite ET in Z. set (y := zsum _ _) in *. clearbody y. whole.
    + right. rewrite (qsum_eq _ (fun _ => 0)) by (intros; ring). rewrite qsum_0. lra.
  - intros x q en Hx Hq K S. split; [|reflexivity]. now destruct (call_row x q en Hx Hq K S).
  - intros x q en Hx Hq K S. destruct (call_row x q en Hx Hq K S) as [_ [A B]]. split; [exact A|]. split; [exact B|].
    intros l Hl. cbn [xnext snd]. unfold xg. destruct (weighted f) eqn:Hw.
    + pose proof (WT x q Hx Hq eq_refl) as X. unfold check_weights_at in X. cbv zeta in X. rewrite S, K in X. cbn [negb orb] in X.
      rewrite !andb_true_iff in X. destruct X as [_ X]. apply orb_true_iff in X. destruct X as [X|X]; [left; now apply weight_irrelevant|right].
      pose proof (all_below_spec _ _ X l Hl) as Z. cbv beta in Z. apply Z.leb_le in Z.
      rewrite TU, nsum_zz. rewrite EU in Z. set (y := nzsum _ _) in *. clearbody y. whole.
    + right. rewrite <- (qsum_0 (seq 0 (nexits m (comp m en)))) at 1. apply nsum_le. intros; lra.
  - intros x q k Hx Hq K S. split.
    + apply (mean_of _ _ _ _ Hx). intros j Hj Hc. destruct Hx as [Cx _]. rewrite <- Hc in Cx, S.
      pose proof (row_checked j q Hj Cx Hq S) as R. rewrite K in R. apply Z.leb_le in R. whole.
    + intros l Hl. unfold xg, indicator. destruct (weighted f) eqn:Hw.
      * pose proof (WT x q Hx Hq eq_refl) as X. unfold check_weights_at in X. cbv zeta in X. rewrite S, K in X. cbn [negb orb] in X.
        rewrite !andb_true_iff in X. destruct X as [_ X]. apply orb_true_iff in X. destruct X as [X|X]; [left; now apply weight_irrelevant|right].
        pose proof (all_below_spec _ _ X l Hl) as Z. cbv beta in Z. apply Z.leb_le in Z. rewrite TU. rewrite EU in Z.
        destruct (l =? k)%nat; whole.
      * right. destruct (l =? k)%nat; lra.
  - intros x q Hx Hq. unfold xg. destruct (weighted f) eqn:Hw.
    + pose proof (WT x q Hx Hq eq_refl) as X. unfold check_weights_at in X. cbv zeta in X. rewrite !andb_true_iff in X.
      destruct X as [[X1 X2] _]. apply Z.leb_le in X2. split.
      * intros l Hl. pose proof (all_below_spec _ _ X1 l Hl) as Z. cbv beta in Z. apply Z.leb_le in Z. whole.
      * rewrite nsum_z1, TU. rewrite EU in X2. set (y := nzsum _ _) in *. clearbody y. whole.
    + split; [intros; lra|]. assert (Z0 : nsum (fun _ => 0) (nexits m (comp m q)) == 0) by apply qsum_0. rewrite Z0. lra.
Qed.

(* Numbers of contexts are bounded. *)
Lemma family_bounds : exists M, 0 <= M /\
  (forall x q, good (comp m q) x -> (q < nv m)%nat -> - M <= xw f x q) /\
  (forall x c k, good c x -> (k < nexits m c)%nat -> xe f x k <= M).
Proof.
  destruct (bounded1 (fun c => Z.of_nat (nexits m c)) (ncomp m)) as [N [N0 HN]].
  destruct (bounded2 (fw f) (members f) (nv m)) as [B1 [B10 H1]].
  destruct (bounded2 (fe f) (members f) (S (Z.to_nat N))) as [B2 [B20 H2]].
  exists (inject_Z (B1 + B2)). split; [whole|]. split.
  - intros x q Hx Hq. destruct (mean_bound _ x (fun i => fw f i q) (B1 + B2) Hx); auto.
    intros i Hi. specialize (H1 i q Hi Hq). lia.
  - intros x c k Hx Hk. destruct (mean_bound _ x (fun i => fe f i k) (B1 + B2) Hx); auto.
    intros i Hi. destruct Hx as [[Hc E] _]. pose proof (plan_comp m P HP _ Hc) as Cn. rewrite E in Cn.
    specialize (HN c Cn). cbv beta in HN. specialize (H2 i k Hi). assert (Z.abs (fe f i k) <= B2)%Z by (apply H2; lia). lia.
Qed.
End Sound.
