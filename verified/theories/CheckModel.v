(* The checks of models and of plans, in whole numbers. *)
From Coq Require Import QArith Lqa List Lia Bool Arith ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs.
Open Scope Z_scope.

Definition is_state (k : kind) : bool := match k with State => true | _ => false end.

(* All vertices of a component. *)
Definition over_comp (m : model) (c : nat) (f : nat -> bool) : bool :=
  all_below (size m c) (fun j => let q := (first m c + j)%nat in negb (comp m q =? c)%nat || f q).

(* All actions that a plan allows. *)
Definition each_action (m : model) (P : plan) (x q : nat) (f : action -> bool) : bool :=
  match chosen P x q with
  | None => forallb f (acts m q)
  | Some j => (j <? length (acts m q))%nat && f (act m q j)
  end.

Section Check.
Variable m : model.

Definition check_action (c : nat) (a : action) : bool :=
  (0 <? tot a) && (zsum num (outs a) =? tot a) &&
  forallb (fun t => (0 <=? num t) && (tgt t <? nv m)%nat && (comp m (tgt t) =? c)%nat) (outs a).
Definition check_vertex (q : nat) : bool :=
  let c := comp m q in
  (c <? ncomp m)%nat && (first m c <=? q)%nat && (q <? first m c + size m c)%nat &&
  forallb (check_action c) (acts m q) &&
  match kind_of m q with
  | State => match acts m q with [] => false | _ => true end
  | Exit k => (k <? nexits m c)%nat && (exit_at m c k =? q)%nat
  | Call en => (en <? nv m)%nat && is_state (kind_of m en) &&
      all_below (nexits m (comp m en)) (fun k =>
        (ret m q k <? nv m)%nat && is_state (kind_of m (ret m q k)) && (comp m (ret m q k) =? c)%nat)
  end.
Definition check_start (we : Z * nat) : bool :=
  (0 <=? fst we) && (snd we <? nv m)%nat && is_state (kind_of m (snd we)) && (comp m (snd we) =? start_comp m)%nat.
Definition check_model : bool :=
  (0 <? scale m) && (0 <? start_tot m) && (zsum fst (starts m) =? start_tot m) &&
  forallb check_start (starts m) && all_below (nv m) check_vertex.

Variable P : plan.
Definition check_copy_at (x q : nat) : bool :=
  negb (seen P x q) ||
  match kind_of m q with
  | State => each_action m P x q (fun a => forallb (fun t => seen P x (tgt t)) (outs a))
  | Exit _ => true
  | Call en => let y := enters P x q in
      (y <? ncopies P)%nat && (of_comp P y =? comp m en)%nat && seen P y en &&
      all_below (nexits m (comp m en)) (fun k =>
        negb (seen P y (exit_at m (comp m en) k)) || seen P x (ret m q k))
  end.
Definition check_plan : bool :=
  all_below (ncopies P) (fun x => (of_comp P x <? ncomp m)%nat && over_comp m (of_comp P x) (check_copy_at x)) &&
  forallb (fun we => let e := snd we in let x := root P e in
    (x <? ncopies P)%nat && (of_comp P x =? start_comp m)%nat && seen P x e) (starts m).
End Check.

(* Takes apart what was checked. *)
Ltac split_and := repeat match goal with
  | H : _ && _ = true |- _ => apply andb_true_iff in H; destruct H
  | H : (_ <? _)%nat = true |- _ => apply Nat.ltb_lt in H
  | H : (_ <=? _)%nat = true |- _ => apply Nat.leb_le in H
  | H : (_ =? _)%nat = true |- _ => apply Nat.eqb_eq in H
  | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
  | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
  | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H
  | H : forallb _ _ = true |- _ => rewrite forallb_forall in H
  end.

Lemma is_state_spec k : is_state k = true -> k = State.
Proof. now destruct k. Qed.

Section Sound.
Variable m : model.
Hypothesis HM : check_model m = true.

Lemma vertex_checked q : (q < nv m)%nat -> check_vertex m q = true.
Proof. unfold check_model in HM. split_and. intros Hq. now apply (all_below_spec (nv m)). Qed.

Lemma scale_pos : 0 < scale m.
Proof. unfold check_model in HM. now split_and. Qed.

Lemma action_checked q a : (q < nv m)%nat -> In a (acts m q) -> check_action m (comp m q) a = true.
Proof.
  intros Hq Ha. pose proof (vertex_checked q Hq) as V. unfold check_vertex in V.
  apply andb_true_iff in V. destruct V as [V _]. split_and. auto.
Qed.

Lemma tot_pos q a : (q < nv m)%nat -> In a (acts m q) -> 0 < tot a.
Proof. intros Hq Ha. pose proof (action_checked q a Hq Ha) as V. unfold check_action in V. now split_and. Qed.

Lemma over_comp_spec f q : (q < nv m)%nat -> over_comp m (comp m q) f = true -> f q = true.
Proof.
  intros Hq H. pose proof (vertex_checked q Hq) as V. unfold check_vertex in V.
  apply andb_true_iff in V. destruct V as [V _]. split_and.
  pose proof (all_below_spec _ _ H (q - first m (comp m q))%nat) as X. cbv beta zeta in X.
  replace (first m (comp m q) + (q - first m (comp m q)))%nat with q in X by lia.
  rewrite Nat.eqb_refl in X. cbn [negb orb] in X. apply X. lia.
Qed.

Theorem check_model_wf : wf m.
Proof.
  pose proof vertex_checked as VV. pose proof action_checked as AA. split.
  - intros q a t Hq Ha Ht. specialize (AA q a Hq Ha). unfold check_action in AA. split_and.
    match goal with H : forall x, In x _ -> _ |- _ => specialize (H t Ht) end. now split_and.
  - intros q a Hq Ha. specialize (AA q a Hq Ha). unfold check_action in AA. split_and.
    unfold prob. now apply sum_is_one.
  - intros q Hq K. specialize (VV q Hq). unfold check_vertex in VV. rewrite K in VV. split_and. now destruct (acts m q).
  - intros q a t Hq Ha Ht. specialize (AA q a Hq Ha). unfold check_action in AA. split_and.
    match goal with H : forall x, In x _ -> _ |- _ => specialize (H t Ht) end. now split_and.
  - intros q en Hq K. specialize (VV q Hq). unfold check_vertex in VV. rewrite K in VV. split_and.
    match goal with H : all_below _ _ = true |- _ => pose proof (all_below_spec _ _ H) as R end.
    split; [auto|]. split; [now apply is_state_spec|]. intros k Hk. specialize (R k Hk). cbv beta in R. split_and.
    auto using is_state_spec.
  - intros q k Hq K. specialize (VV q Hq). unfold check_vertex in VV. rewrite K in VV. now split_and.
  - intros q Hq. specialize (VV q Hq). unfold check_vertex in VV. apply andb_true_iff in VV. destruct VV as [V _]. now split_and.
  - clear VV AA. unfold check_model in HM. split_and. intros we Hw.
    match goal with H : forall x, In x _ -> _ |- _ => specialize (H we Hw) end. unfold check_start in *. split_and.
    repeat split; auto using is_state_spec. unfold Qle; simpl; lia.
  - clear VV AA. unfold check_model in HM. split_and. now apply sum_is_one.
Qed.

Lemma each_action_spec P x q f i : each_action m P x q f = true -> (i < length (acts m q))%nat ->
  allowed P x q i -> f (act m q i) = true.
Proof.
  unfold each_action, allowed. intros H Hi A. destruct (chosen P x q) as [j|].
  - split_and. now subst.
  - rewrite forallb_forall in H. apply H. now apply nth_In.
Qed.

Section Plan.
Variable P : plan.
Hypothesis HP : check_plan m P = true.

Lemma plan_comp x : (x < ncopies P)%nat -> (of_comp P x < ncomp m)%nat.
Proof.
  intros Hx. unfold check_plan in HP. apply andb_true_iff in HP. destruct HP as [H _].
  pose proof (all_below_spec _ _ H x Hx) as X. cbv beta in X. now split_and.
Qed.

Lemma copy_checked x q : copy_of P x (comp m q) -> (q < nv m)%nat -> seen P x q = true ->
  match kind_of m q with
  | State => each_action m P x q (fun a => forallb (fun t => seen P x (tgt t)) (outs a))
  | Exit _ => true
  | Call en => let y := enters P x q in
      (y <? ncopies P)%nat && (of_comp P y =? comp m en)%nat && seen P y en &&
      all_below (nexits m (comp m en)) (fun k =>
        negb (seen P y (exit_at m (comp m en) k)) || seen P x (ret m q k))
  end = true.
Proof.
  intros [Hx E] Hq S. unfold check_plan in HP. apply andb_true_iff in HP. destruct HP as [H _].
  pose proof (all_below_spec _ _ H x Hx) as X. cbv beta in X. split_and. rewrite E in *.
  match goal with H : over_comp _ _ _ = true |- _ => pose proof (over_comp_spec _ q Hq H) as Y end.
  unfold check_copy_at in Y. now rewrite S in Y.
Qed.

Theorem check_plan_closed : closed m P.
Proof.
  split.
  - intros x q i t Hc Hq K S Hi A Ht. pose proof (copy_checked x q Hc Hq S) as V. rewrite K in V.
    pose proof (each_action_spec P x q _ i V Hi A) as X. cbv beta in X. rewrite forallb_forall in X. auto.
  - intros x q en Hc Hq K S. pose proof (copy_checked x q Hc Hq S) as V. rewrite K in V. cbv zeta in V. split_and.
    now repeat split.
  - intros x q en k Hc Hq K S Hk E. pose proof (copy_checked x q Hc Hq S) as V. rewrite K in V. cbv zeta in V. split_and.
    match goal with H : all_below _ _ = true |- _ => pose proof (all_below_spec _ _ H k Hk) as X end.
    cbv beta in X. now rewrite E in X.
Qed.

Lemma root_checked we : In we (starts m) -> copy_of P (root P (snd we)) (start_comp m) /\ seen P (root P (snd we)) (snd we) = true.
Proof.
  intros Hw. unfold check_plan in HP. apply andb_true_iff in HP. destruct HP as [_ H]. rewrite forallb_forall in H.
  specialize (H we Hw). cbv zeta in H. split_and. now repeat split.
Qed.

Lemma start_ok we : In we (starts m) -> ok m P (root P (snd we)) (At (snd we) []).
Proof.
  intros Hw. destruct (wf_start m check_model_wf we Hw) as [_ [A [B C]]]. destruct (root_checked we Hw).
  repeat split; auto.
Qed.
End Plan.
End Sound.
