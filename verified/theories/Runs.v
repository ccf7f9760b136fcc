(* Well-formed models, plans, and means over runs: monotone, linear, and never above what does not
   rise in any step. *)
From Coq Require Import QArith Lqa List Lia Bool ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums.
Open Scope Q_scope.

Record wf (m : model) : Prop := {
  wf_num : forall q a t, (q < nv m)%nat -> In a (acts m q) -> In t (outs a) -> (0 <= num t)%Z;
  wf_sum : forall q a, (q < nv m)%nat -> In a (acts m q) -> qsum (prob a) (outs a) == 1;
  wf_acts : forall q, (q < nv m)%nat -> kind_of m q = State -> acts m q <> [];
  wf_tgt : forall q a t, (q < nv m)%nat -> In a (acts m q) -> In t (outs a) ->
    (tgt t < nv m)%nat /\ comp m (tgt t) = comp m q;
  wf_call : forall q en, (q < nv m)%nat -> kind_of m q = Call en ->
    (en < nv m)%nat /\ kind_of m en = State /\
    forall k, (k < nexits m (comp m en))%nat ->
      (ret m q k < nv m)%nat /\ kind_of m (ret m q k) = State /\ comp m (ret m q k) = comp m q;
  wf_exit : forall q k, (q < nv m)%nat -> kind_of m q = Exit k ->
    (k < nexits m (comp m q))%nat /\ exit_at m (comp m q) k = q;
  wf_comp : forall q, (q < nv m)%nat -> (comp m q < ncomp m)%nat;
  wf_start : forall we, In we (starts m) -> 0 <= fst we # Z.to_pos (start_tot m) /\
    (snd we < nv m)%nat /\ kind_of m (snd we) = State /\ comp m (snd we) = start_comp m;
  wf_start_sum : qsum (fun we => fst we # Z.to_pos (start_tot m)) (starts m) == 1
}.

(* A plan: copies of components, the copies that calls enter, the actions that are allowed in them
   (None: all), and the vertices that runs can come to. Runs from an entry begin in its root. *)
Record plan := Plan {
  ncopies : nat;
  of_comp : nat -> nat;
  enters : nat -> nat -> nat;
  chosen : nat -> nat -> option nat;
  seen : nat -> nat -> bool;
  root : nat -> nat
}.

Section Runs.
Variable m : model.
Hypothesis W : wf m.
Variable P : plan.

Definition copy_of (x c : nat) : Prop := (x < ncopies P)%nat /\ of_comp P x = c.
Definition allowed (x q i : nat) : Prop := match chosen P x q with None => True | Some j => i = j end.

Record closed : Prop := {
  cl_state : forall x q i t, copy_of x (comp m q) -> (q < nv m)%nat -> kind_of m q = State ->
    seen P x q = true -> (i < length (acts m q))%nat -> allowed x q i -> In t (outs (act m q i)) ->
    seen P x (tgt t) = true;
  cl_call : forall x q en, copy_of x (comp m q) -> (q < nv m)%nat -> kind_of m q = Call en ->
    seen P x q = true -> copy_of (enters P x q) (comp m en) /\ seen P (enters P x q) en = true;
  cl_return : forall x q en k, copy_of x (comp m q) -> (q < nv m)%nat -> kind_of m q = Call en ->
    seen P x q = true -> (k < nexits m (comp m en))%nat ->
    seen P (enters P x q) (exit_at m (comp m en) k) = true -> seen P x (ret m q k) = true
}.
Hypothesis CL : closed.

Variable r0 : nat.                         (* the copy of the empty stack *)
Hypothesis R0 : copy_of r0 (start_comp m).

Fixpoint copy (s : list nat) : nat := match s with [] => r0 | p :: s => enters P (copy s) p end.

(* Configurations that fit together: every pending call was seen, and calls the component inside. *)
Fixpoint fits (c : nat) (s : list nat) : Prop :=
  match s with
  | [] => c = start_comp m
  | p :: s => (p < nv m)%nat /\ (exists en, kind_of m p = Call en /\ comp m en = c) /\
      seen P (copy s) p = true /\ fits (comp m p) s
  end.
Definition ok (c : conf) : Prop :=
  match c with
  | Stop k => (k < nexits m (start_comp m))%nat
  | At q s => (q < nv m)%nat /\ kind_of m q = State /\ seen P (copy s) q = true /\ fits (comp m q) s
  end.

Lemma copy_fits s : forall c, fits c s -> copy_of (copy s) c.
Proof.
  induction s as [|p s IH]; intros c F; simpl in *.
  - now subst.
  - destruct F as [Hp [[en [K C]] [S F]]]. destruct (cl_call CL (copy s) p en (IH _ F) Hp K S) as [A _].
    now rewrite <- C.
Qed.

Lemma ok_settle q s : (q < nv m)%nat -> seen P (copy s) q = true -> fits (comp m q) s -> ok (settle m q s).
Proof.
  intros Hq S Hs. pose proof (copy_fits s _ Hs) as CP. unfold settle.
  destruct (kind_of m q) as [|k|en] eqn:K; simpl; auto.
  - destruct (wf_exit m W q k Hq K) as [Hk E]. destruct s as [|c s]; simpl in *.
    + now rewrite <- Hs.
    + destruct Hs as [Hc [[en [Ke Ce]] [Sc Hs]]]. rewrite <- Ce in Hk.
      destruct (wf_call m W c en Hc Ke) as [_ [_ R]]. destruct (R k Hk) as [? [? E']].
      rewrite E'. repeat split; auto. apply (cl_return CL (copy s) c en k); auto using copy_fits.
      rewrite Ce, E. exact S.
  - destruct (wf_call m W q en Hq K) as [He [Ks _]]. destruct (cl_call CL (copy s) q en CP Hq K S) as [_ Se].
    repeat split; auto. now exists en.
Qed.

Lemma ok_next q s i t : ok (At q s) -> (i < length (acts m q))%nat -> allowed (copy s) q i ->
  In t (outs (act m q i)) -> ok (settle m (tgt t) s).
Proof.
  intros [Hq [K [S F]]] Hi A Ht. destruct (wf_tgt m W q _ t Hq (nth_In _ _ Hi) Ht) as [Hn E].
  apply ok_settle; auto.
  - apply (cl_state CL (copy s) q i t); auto using copy_fits.
  - now rewrite E.
Qed.

Lemma prob_nonneg q i t : (q < nv m)%nat -> (i < length (acts m q))%nat -> In t (outs (act m q i)) ->
  0 <= prob (act m q i) t.
Proof.
  intros Hq Hi Ht. pose proof (wf_num m W q _ t Hq (nth_In _ _ Hi) Ht). unfold prob, Qle; simpl. lia.
Qed.

Lemma prob_sum q i : (q < nv m)%nat -> (i < length (acts m q))%nat ->
  qsum (prob (act m q i)) (outs (act m q i)) == 1.
Proof. intros Hq Hi. exact (wf_sum m W q _ Hq (nth_In _ _ Hi)). Qed.

(* Single steps. *)
Lemma step_le r r' F F' q s i : (q < nv m)%nat -> (i < length (acts m q))%nat ->
  (forall t, In t (outs (act m q i)) ->
     r (At q s) t + F (settle m (tgt t) s) <= r' (At q s) t + F' (settle m (tgt t) s)) ->
  step m r F (At q s) s (act m q i) <= step m r' F' (At q s) s (act m q i).
Proof.
  intros Hq Hi H. apply qsum_le. intros t Ht. specialize (H t Ht). pose proof (prob_nonneg q i t Hq Hi Ht). nra.
Qed.

Lemma step_plus r r' F F' c s a :
  step m (fun c t => r c t + r' c t) (fun c => F c + F' c) c s a == step m r F c s a + step m r' F' c s a.
Proof. unfold step. rewrite <- qsum_plus. apply qsum_eq. intros; ring. Qed.

Lemma step_scale x r F c s a : step m (fun c t => x * r c t) (fun c => x * F c) c s a == x * step m r F c s a.
Proof. unfold step. rewrite <- qsum_scale. apply qsum_eq. intros; ring. Qed.

Lemma step_ext r r' F F' c s a : (forall t, r c t == r' c t) -> (forall c, F c == F' c) ->
  step m r F c s a == step m r' F' c s a.
Proof. intros Hr HF. apply qsum_eq. intros t _. now rewrite (Hr t), (HF _). Qed.

Lemma step_const x r F q s i : (q < nv m)%nat -> (i < length (acts m q))%nat ->
  step m (fun c t => r c t + x) F (At q s) s (act m q i) == step m r F (At q s) s (act m q i) + x.
Proof.
  intros Hq Hi. unfold step. set (a := act m q i).
  transitivity (qsum (fun t => prob a t * (r (At q s) t + F (settle m (tgt t) s))) (outs a) + qsum (prob a) (outs a) * x).
  - rewrite <- qsum_scale_r, <- qsum_plus. apply qsum_eq. intros; ring.
  - unfold a. rewrite (prob_sum q i Hq Hi). ring.
Qed.

(* What does not rise in any step that the plan allows. *)
Definition falls (r : reward) (G : conf -> Q) : Prop :=
  forall q s i, ok (At q s) -> (i < length (acts m q))%nat -> allowed (copy s) q i ->
    step m r G (At q s) s (act m q i) <= G (At q s).

Definition follows (pi : policy) : Prop := legal m pi /\
  forall h q s wi, ok (At q s) -> In wi (pi h (At q s)) -> allowed (copy s) q (snd wi).

Section Policy.
Variable pi : policy.
Hypothesis L : follows pi.

Lemma pick h q s : ok (At q s) ->
  (forall wi, In wi (pi h (At q s)) -> 0 <= fst wi /\ (snd wi < length (acts m q))%nat /\ allowed (copy s) q (snd wi)) /\
  qsum fst (pi h (At q s)) == 1.
Proof.
  intros O. destruct L as [Lg A]. destruct (O) as [Hq [K _]]. destruct (Lg h q s Hq K) as [Hl H1]. split; auto.
  intros wi Hi. destruct (Hl wi Hi). repeat split; auto. eapply A; eauto.
Qed.

(* Compares two means with a constant in between, step by step. *)
Lemma ev_step (r r' : reward) (F F' : hist -> conf -> Q) n n' h q s x :
  ok (At q s) ->
  (forall i t, In t (outs (act m q i)) -> ok (settle m (tgt t) s) ->
     x + r (At q s) t + ev m pi r F n ((At q s, i) :: h) (settle m (tgt t) s) <=
     r' (At q s) t + ev m pi r' F' n' ((At q s, i) :: h) (settle m (tgt t) s)) ->
  x + ev m pi r F (S n) h (At q s) <= ev m pi r' F' (S n') h (At q s).
Proof.
  intros Hc HF. destruct (Hc) as [Hq _]. destruct (pick h q s Hc) as [Hl H1]. cbn [ev].
  assert (E : x == qsum fst (pi h (At q s)) * x) by (rewrite H1; ring).
  rewrite E, <- qsum_scale_r, <- qsum_plus. apply qsum_le. intros wi Hi. destruct (Hl wi Hi) as [Hw [Hn A]].
  assert (step m r (ev m pi r F n ((At q s, snd wi) :: h)) (At q s) s (act m q (snd wi)) + x <=
          step m r' (ev m pi r' F' n' ((At q s, snd wi) :: h)) (At q s) s (act m q (snd wi))).
  { rewrite <- step_const by auto. apply step_le; auto. intros t Ht.
    pose proof (HF (snd wi) t Ht (ok_next q s _ t Hc Hn A Ht)). lra. }
  nra.
Qed.

Lemma ev_le r r' G G' n : (forall c t, r c t <= r' c t) -> (forall h c, ok c -> G h c <= G' h c) ->
  forall h c, ok c -> ev m pi r G n h c <= ev m pi r' G' n h c.
Proof.
  intros Hr HG. induction n as [|n IH]; intros h c Hc; [simpl; auto|]. destruct c as [k|q s]; [simpl; auto|].
  rewrite <- (Qplus_0_l (ev m pi r G (S n) h (At q s))). apply ev_step; auto. intros i t _ O. pose proof (Hr (At q s) t).
  pose proof (IH ((At q s, i) :: h) _ O). lra.
Qed.

Lemma ev_ext r r' G G' n : (forall c t, r c t == r' c t) -> (forall h c, G h c == G' h c) ->
  forall h c, ev m pi r G n h c == ev m pi r' G' n h c.
Proof.
  intros Hr HG. induction n as [|n IH]; intros h c; simpl; auto. destruct c as [k|q s]; auto.
  apply qsum_eq. intros wi _. apply Qmult_comp; [reflexivity|]. apply step_ext; auto.
Qed.

Lemma ev_plus r r' G G' n : forall h c,
  ev m pi (fun c t => r c t + r' c t) (fun h c => G h c + G' h c) n h c == ev m pi r G n h c + ev m pi r' G' n h c.
Proof.
  induction n as [|n IH]; intros h c; simpl; [reflexivity|]. destruct c as [k|q s]; [reflexivity|].
  rewrite <- qsum_plus. apply qsum_eq. intros wi _. rewrite <- Qmult_plus_distr_r, <- step_plus.
  apply Qmult_comp; [reflexivity|]. apply step_ext; auto. reflexivity.
Qed.

Lemma ev_scale x r G n : forall h c,
  ev m pi (fun c t => x * r c t) (fun h c => x * G h c) n h c == x * ev m pi r G n h c.
Proof.
  induction n as [|n IH]; intros h c; simpl; [reflexivity|]. destruct c as [k|q s]; [reflexivity|].
  rewrite <- qsum_scale. apply qsum_eq. intros wi _.
  setoid_replace (x * (fst wi * step m r (ev m pi r G n ((At q s, snd wi) :: h)) (At q s) s (act m q (snd wi))))
    with (fst wi * (x * step m r (ev m pi r G n ((At q s, snd wi) :: h)) (At q s) s (act m q (snd wi)))) by ring.
  rewrite <- (step_scale x). apply Qmult_comp; [reflexivity|]. apply step_ext; auto. reflexivity.
Qed.

(* First n steps, then j more. *)
Lemma ev_comp r G n j : forall h c, ev m pi r G (n + j) h c == ev m pi r (ev m pi r G j) n h c.
Proof.
  induction n as [|n IH]; intros h c; [reflexivity|]. cbn [Nat.add ev]. destruct c as [k|q s].
  - destruct j; reflexivity.
  - apply qsum_eq. intros wi _. apply Qmult_comp; [reflexivity|]. apply step_ext; auto. reflexivity.
Qed.

Lemma ev_falls r G : falls r G -> forall n h c, ok c -> ev m pi r (fun _ => G) n h c <= G c.
Proof.
  intros HG. induction n as [|n IH]; intros h c Hc; [simpl; lra|]. destruct c as [k|q s]; [simpl; lra|].
  destruct (Hc) as [Hq _]. destruct (pick h q s Hc) as [Hl H1]. cbn [ev].
  apply (mean_le fst); auto.
  - intros wi Hi. now destruct (Hl wi Hi).
  - intros wi Hi. destruct (Hl wi Hi) as [Hw [Hn A]].
    apply Qle_trans with (step m r G (At q s) s (act m q (snd wi))); [|apply HG; auto].
    apply step_le; auto. intros t Ht. pose proof (IH ((At q s, snd wi) :: h) _ (ok_next q s _ t Hc Hn A Ht)). lra.
Qed.

Lemma falls_const x : falls (fun _ _ => 0) (fun _ => x).
Proof.
  intros q s i [Hq _] Hi _. unfold step. rewrite (qsum_eq _ (fun t => prob (act m q i) t * x)) by (intros; ring).
  rewrite qsum_scale_r, (prob_sum q i Hq Hi). lra.
Qed.
End Policy.
End Runs.

(* There are legal policies: what holds for all of them says something. *)
Theorem legal_exists m : wf m -> exists pi, legal m pi.
Proof.
  intros W. exists (fun _ _ => [(1, 0%nat)]). intros h q s Hq K. split.
  - intros wi [<-|[]]; simpl. split; [lra|]. pose proof (wf_acts m W q Hq K).
    destruct (acts m q); [easy|simpl; lia].
  - simpl. lra.
Qed.
