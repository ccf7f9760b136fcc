(* One theorem for points (with mixes and reach), pieces, steps, potentials and visits. A family has
   numbers w of contexts and vertices, a base e of contexts and exits, and weights g of copies,
   vertices and exits. What a vertex is worth below a stack is V; it does not rise in any step. *)
From Coq Require Import QArith Lqa List Lia Bool ZArith.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs Ends.
Open Scope Q_scope.

Definition indicator (l k : nat) : Q := if (l =? k)%nat then 1 else 0.

Section Family.
Variable m : model.
Hypothesis W : wf m.
Variable P : plan.
Hypothesis CL : closed m P.
Variables (X : Type) (w : X -> nat -> Q) (e : X -> nat -> Q) (next : X -> nat -> X) (its : X -> nat).
Variables (g : nat -> nat -> nat -> Q) (floor : bool) (good : nat -> X -> Prop) (r : trans -> Q).

(* With one exit and no floor weights do not matter. *)
Definition irrelevant (n : nat) : Prop := n = 1%nat /\ floor = false.
Definition excess (x : X) (v : nat -> Q) (k : nat) : Q := v k - e x k.

Record family : Prop := {
  fm_copy : forall c x, good c x -> copy_of P (its x) c;
  fm_state : forall x q i, good (comp m q) x -> (q < nv m)%nat -> kind_of m q = State ->
    seen P (its x) q = true -> (i < length (acts m q))%nat -> allowed P (its x) q i ->
    qsum (fun t => prob (act m q i) t * (r t + w x (tgt t))) (outs (act m q i)) <= w x q /\
    forall l, (l < nexits m (comp m q))%nat -> irrelevant (nexits m (comp m q)) \/
      g (its x) q l <= qsum (fun t => prob (act m q i) t * g (its x) (tgt t) l) (outs (act m q i));
  fm_next : forall x q en, good (comp m q) x -> (q < nv m)%nat -> kind_of m q = Call en ->
    seen P (its x) q = true -> good (comp m en) (next x q) /\ its (next x q) = enters P (its x) q;
  fm_call : forall x q en, good (comp m q) x -> (q < nv m)%nat -> kind_of m q = Call en ->
    seen P (its x) q = true -> (nexits m (comp m en) = O -> floor = true) /\
    w (next x q) en + rise floor (g (its (next x q)) en) (excess (next x q) (fun k => w x (ret m q k))) (nexits m (comp m en))
      <= w x q /\
    forall l, (l < nexits m (comp m q))%nat -> irrelevant (nexits m (comp m q)) \/
      g (its x) q l <= nsum (fun k => g (its (next x q)) en k * g (its x) (ret m q k) l) (nexits m (comp m en));
  fm_exit : forall x q k, good (comp m q) x -> (q < nv m)%nat -> kind_of m q = Exit k ->
    seen P (its x) q = true ->
    e x k <= w x q /\ forall l, (l < nexits m (comp m q))%nat -> irrelevant (nexits m (comp m q)) \/ g (its x) q l <= indicator l k;
  fm_prob : forall x q, good (comp m q) x -> (q < nv m)%nat ->
    (forall l, (l < nexits m (comp m q))%nat -> 0 <= g (its x) q l) /\ nsum (g (its x) q) (nexits m (comp m q)) <= 1
}.
Hypothesis H : family.
Variables (x0 : X) (worth : nat -> Q).
Hypothesis B0 : good (start_comp m) x0.
Notation r0 := (its x0).

Definition V (x : X) (v : nat -> Q) (q : nat) : Q :=
  w x q + rise floor (g (its x) q) (excess x v) (nexits m (comp m q)).
Fixpoint frames (s : list nat) : X * (nat -> Q) :=
  match s with
  | [] => (x0, worth)
  | p :: s => let (x, v) := frames s in (next x p, fun k => V x v (ret m p k))
  end.
Definition G (c : conf) : Q :=
  match c with Stop k => worth k | At q s => V (fst (frames s)) (snd (frames s)) q end.

Lemma root_copy : copy_of P r0 (start_comp m).
Proof. exact (fm_copy H _ _ B0). Qed.

Lemma good_frames s : forall c, fits m P r0 c s -> good c (fst (frames s)) /\ its (fst (frames s)) = copy P r0 s.
Proof.
  induction s as [|p s IH]; intros c F.
  - simpl in F. subst. now split.
  - destruct F as [Hp [[en [K C]] [S F]]]. destruct (IH _ F) as [A B]. simpl. destruct (frames s) as [x v]. simpl in *.
    rewrite <- B in *. rewrite <- C. apply (fm_next H); auto.
Qed.

Lemma weigh t n l a b : (l < n)%nat -> irrelevant n \/ a <= b -> a * (top floor t n - t l) <= b * (top floor t n - t l).
Proof.
  intros Hl [[-> ->]|Hab].
  - rewrite top_one. assert (l = O) by lia. subst. lra.
  - pose proof (top_ge floor t n l Hl). nra.
Qed.

Lemma V_exit x v q k : good (comp m q) x -> (q < nv m)%nat -> kind_of m q = Exit k -> seen P (its x) q = true -> v k <= V x v q.
Proof.
  intros Hx Hq K S. unfold V, rise. set (n := nexits m (comp m q)). set (t := excess x v).
  set (mx := top floor t n). destruct (fm_exit H x q k Hx Hq K S) as [HE HG].
  destruct (wf_exit m W q k Hq K) as [Hk _]. fold n in HG, Hk.
  assert (A : nsum (fun l => g (its x) q l * (mx - t l)) n <= nsum (fun l => indicator l k * (mx - t l)) n).
  { apply nsum_le. intros l Hl. apply weigh; auto. }
  rewrite (nsum_single (fun l => indicator l k * (mx - t l)) n k Hk) in A.
  - unfold indicator in A. rewrite Nat.eqb_refl in A. assert (T : t k == v k - e x k) by reflexivity. lra.
  - intros j Hj Hn. unfold indicator. apply Nat.eqb_neq in Hn. rewrite Hn. ring.
Qed.

(* Rises grow with t, and move along with constants. *)
Lemma rise_le gs t t' n c b : (forall k, (k < n)%nat -> 0 <= gs k) -> nsum gs n <= 1 ->
  (forall k, (k < n)%nat -> t' k <= t k + c k) -> (forall k, (k < n)%nat -> c k <= b) ->
  (floor = true \/ n = O -> 0 <= b) ->
  rise floor gs t' n <= rise floor gs t n + b - nsum (fun k => gs k * (b - c k)) n.
Proof.
  intros G0 G1 Ht Hb B. rewrite !rise_eq. set (x := top floor t n). set (y := top floor t' n).
  assert (Y : y <= x + b).
  { apply top_shift; auto. intros k Hk. pose proof (Ht k Hk). pose proof (Hb k Hk). lra. }
  assert (E : nsum (fun k => gs k * (b - c k)) n == nsum gs n * b - nsum (fun k => gs k * c k) n).
  { unfold nsum, Qminus. rewrite <- qsum_scale_r.
    transitivity (qsum (fun k => gs k * b) (seq 0 n) + -1 * qsum (fun k => gs k * c k) (seq 0 n)); [|ring].
    rewrite <- qsum_scale, <- qsum_plus. apply qsum_eq. intros; ring. }
  rewrite E.
  assert (nsum (fun k => gs k * t' k) n <= nsum (fun k => gs k * t k) n + nsum (fun k => gs k * c k) n).
  { rewrite <- nsum_plus. apply nsum_le. intros k Hk. specialize (Ht k Hk). specialize (G0 k Hk). nra. }
  set (a := nsum gs n) in *. assert ((1 - a) * y <= (1 - a) * (x + b)) by nra. nra.
Qed.

Lemma V_call x v q en : good (comp m q) x -> (q < nv m)%nat -> kind_of m q = Call en -> seen P (its x) q = true ->
  V (next x q) (fun k => V x v (ret m q k)) en <= V x v q.
Proof.
  intros Hx Hq K S. destruct (wf_call m W q en Hq K) as [He [_ RT]].
  destruct (fm_next H x q en Hx Hq K S) as [Hx' _]. destruct (fm_call H x q en Hx Hq K S) as [N0 [HW HG]].
  destruct (fm_prob H _ en Hx' He) as [PP PS]. set (x' := next x q) in *.
  set (n := nexits m (comp m q)) in *. set (n' := nexits m (comp m en)) in *.
  set (t := excess x v). set (mx := top floor t n).
  set (lack := fun k => nsum (fun l => g (its x) (ret m q k) l * (mx - t l)) n).
  assert (VR : forall k, (k < n')%nat -> V x v (ret m q k) == w x (ret m q k) + mx - lack k).
  { intros k Hk. destruct (RT k Hk) as [_ [_ E]]. unfold V, rise, lack. rewrite E. fold n. fold t. fold mx. ring. }
  assert (S0 : forall k, (k < n')%nat -> 0 <= lack k).
  { intros k Hk. destruct (RT k Hk) as [Hr [_ E]]. apply nsum_nonneg. intros l Hl.
    destruct (fm_prob H x (ret m q k)) as [B _]; [now rewrite E|auto|]. rewrite E in B. specialize (B l Hl).
    pose proof (top_ge floor t n l Hl). fold mx in H0. nra. }
  set (v' := fun k => V x v (ret m q k)). unfold V at 1. fold n'.
  assert (MX : floor = true \/ n' = O -> 0 <= mx).
  { intros C. apply top_0. left. destruct C; auto. }
  assert (R1 : forall k, (k < n')%nat -> excess x' v' k <= excess x' (fun k => w x (ret m q k)) k + (mx - lack k)).
  { intros k Hk. unfold excess, v'. rewrite (VR k Hk). lra. }
  assert (R2 : forall k, (k < n')%nat -> mx - lack k <= mx) by (intros k Hk; specialize (S0 k Hk); lra).
  pose proof (rise_le (g (its x') en) _ _ n' (fun k => mx - lack k) mx PP PS R1 R2 MX) as RL. cbv beta in RL.
  assert (E : nsum (fun k => g (its x') en k * (mx - (mx - lack k))) n' == nsum (fun k => g (its x') en k * lack k) n').
  { apply nsum_eq. intros; ring. }
  rewrite E in RL.
  assert (PS' : nsum (fun l => g (its x) q l * (mx - t l)) n <= nsum (fun k => g (its x') en k * lack k) n').
  { apply Qle_trans with (nsum (fun l => nsum (fun k => g (its x') en k * g (its x) (ret m q k) l) n' * (mx - t l)) n).
    - apply nsum_le. intros l Hl. apply weigh; auto.
    - apply Qle_lteq. right. unfold lack, nsum.
      transitivity (qsum (fun l => qsum (fun k => g (its x') en k * (g (its x) (ret m q k) l * (mx - t l))) (seq 0 n')) (seq 0 n)).
      + apply qsum_eq. intros l _. rewrite <- qsum_scale_r. apply qsum_eq. intros; ring.
      + rewrite qsum_swap. apply qsum_eq. intros k _. now rewrite qsum_scale. }
  unfold V at 1. fold n t. unfold rise at 2. fold mx. lra.
Qed.

Lemma V_settle q s : (q < nv m)%nat -> fits m P r0 (comp m q) s -> seen P (copy P r0 s) q = true ->
  G (settle m q s) <= V (fst (frames s)) (snd (frames s)) q.
Proof.
  intros Hq F S. destruct (good_frames s _ F) as [Hx I]. rewrite <- I in S. unfold settle.
  destruct (kind_of m q) as [|k|en] eqn:K; [simpl; lra| |].
  - pose proof (V_exit _ (snd (frames s)) q k Hx Hq K S). destruct s as [|p s]; [exact H0|].
    simpl in *. destruct (frames s) as [x v]. exact H0.
  - pose proof (V_call _ (snd (frames s)) q en Hx Hq K S). simpl in *. destruct (frames s) as [x v]. exact H0.
Qed.

Theorem family_falls : falls m P r0 (fun _ => r) G.
Proof.
  intros q s i O Hi Al. pose proof O as (Hq & K & S & F). destruct (good_frames s _ F) as [Hx I].
  set (x := fst (frames s)) in *. set (v := snd (frames s)) in *. set (a := act m q i).
  rewrite <- I in S, Al. destruct (fm_state H x q i Hx Hq K S Hi Al) as [HW HG]. fold a in HW, HG.
  assert (SN : forall t, In t (outs a) -> (tgt t < nv m)%nat /\ comp m (tgt t) = comp m q /\ seen P (copy P r0 s) (tgt t) = true).
  { intros t Ht. destruct (wf_tgt m W q a t Hq (nth_In _ _ Hi) Ht). repeat split; auto.
    rewrite <- I. apply (cl_state m P CL (its x) q i t); auto. exact (fm_copy H _ _ Hx). }
  apply Qle_trans with (qsum (fun t => prob a t * (r t + V x v (tgt t))) (outs a)).
  - apply qsum_le. intros t Ht. destruct (SN t Ht) as [Hn [Ct St]].
    pose proof (prob_nonneg m W q i t Hq Hi Ht). pose proof (V_settle (tgt t) s Hn). rewrite Ct in H1. specialize (H1 F St).
    fold x v in H1. fold a in H0. nra.
  - simpl. fold x v. unfold V, rise. set (n := nexits m (comp m q)) in *. set (u := excess x v).
    set (mx := top floor u n).
    assert (E : qsum (fun t => prob a t * (r t + (w x (tgt t) +
        (top floor u (nexits m (comp m (tgt t))) - nsum (fun k => g (its x) (tgt t) k *
           (top floor u (nexits m (comp m (tgt t))) - u k)) (nexits m (comp m (tgt t))))))) (outs a) ==
      qsum (fun t => prob a t * (r t + w x (tgt t))) (outs a) + qsum (prob a) (outs a) * mx
      + -1 * nsum (fun k => qsum (fun t => prob a t * g (its x) (tgt t) k) (outs a) * (mx - u k)) n).
    { unfold nsum.
      transitivity (qsum (fun t => prob a t * (r t + w x (tgt t))) (outs a) + qsum (fun t => prob a t * mx) (outs a)
        + -1 * qsum (fun t => qsum (fun k => prob a t * g (its x) (tgt t) k * (mx - u k)) (seq 0 n)) (outs a)).
      - rewrite <- qsum_scale, <- !qsum_plus. apply qsum_eq. intros t Ht.
        destruct (SN t Ht) as [_ [Ct _]]. rewrite Ct. fold n. fold mx.
        rewrite (qsum_eq (fun k => prob a t * g (its x) (tgt t) k * (mx - u k))
                         (fun k => prob a t * (g (its x) (tgt t) k * (mx - u k)))) by (intros; ring).
        rewrite qsum_scale. ring.
      - rewrite qsum_swap, qsum_scale_r. apply Qplus_comp; [reflexivity|]. apply Qmult_comp; [reflexivity|].
        apply qsum_eq. intros k _. now rewrite qsum_scale_r. }
    rewrite E. unfold a. rewrite (prob_sum m W q i Hq Hi). fold a.
    assert (nsum (fun k => g (its x) q k * (mx - u k)) n <=
            nsum (fun k => qsum (fun t => prob a t * g (its x) (tgt t) k) (outs a) * (mx - u k)) n).
    { apply nsum_le. intros k Hk. apply weigh; auto. }
    lra.
Qed.

(* From below: V is linear in the height of the stack. *)
Section Low.
Variable M : Q.
Hypothesis M0 : 0 <= M.
Hypothesis Hw : forall x q, good (comp m q) x -> (q < nv m)%nat -> - M <= w x q.
Hypothesis He : forall x c k, good c x -> (k < nexits m c)%nat -> e x k <= M.
Hypothesis Hworth : forall k, (k < nexits m (start_comp m))%nat -> - M <= worth k.

Lemma V_low x v q b : good (comp m q) x -> (q < nv m)%nat -> b <= 0 ->
  (forall k, (k < nexits m (comp m q))%nat -> b <= v k) -> b - 2 * M <= V x v q.
Proof.
  intros Hx Hq B0' Hv. unfold V, rise. set (n := nexits m (comp m q)) in *. set (t := excess x v).
  set (mx := top floor t n). destruct (fm_prob H x q Hx Hq) as [B1 B2]. fold n in B1, B2.
  pose proof (Hw x q Hx Hq).
  assert (T : forall k, (k < n)%nat -> b - M <= t k).
  { intros k Hk. specialize (Hv k Hk). pose proof (He x _ k Hx Hk). unfold t, excess. lra. }
  assert (LB : b - M <= mx).
  { destruct (Nat.eq_dec n 0) as [N|N].
    - pose proof (top_0 floor t n (or_intror N)). fold mx in H1. lra.
    - pose proof (top_ge floor t n 0 ltac:(lia)). fold mx in H1. specialize (T 0%nat ltac:(lia)). lra. }
  assert (A : nsum (fun k => g (its x) q k * (mx - t k)) n <= nsum (fun k => g (its x) q k * (mx - (b - M))) n).
  { apply nsum_le. intros k Hk. specialize (B1 k Hk). specialize (T k Hk). nra. }
  unfold nsum in *. rewrite qsum_scale_r in A. set (sg := qsum (g (its x) q) (seq 0 n)) in *.
  assert (sg * (mx - (b - M)) <= 1 * (mx - (b - M))) by (apply Qmult_le_compat_r; lra). lra.
Qed.

Lemma frames_low s : forall c, fits m P r0 c s -> forall k, (k < nexits m c)%nat ->
  - (2 * M) * (1 + inject_Z (Z.of_nat (length s))) <= snd (frames s) k.
Proof.
  induction s as [|p s IH]; intros c F k Hk.
  - simpl in F. subst. specialize (Hworth k Hk). simpl. change (inject_Z 0) with 0. lra.
  - destruct F as [Hp [[en [K C]] [S F]]]. specialize (IH _ F). destruct (good_frames s _ F) as [Hx _].
    cbn [frames length]. destruct (frames s) as [x v]. simpl in *. destruct (wf_call m W p en Hp K) as [_ [_ RT]].
    rewrite C in RT. destruct (RT k Hk) as [Hr [_ E]]. pose proof (nat_S (length s)) as N. cbn [Z.of_nat] in N.
    pose proof (nat_nonneg (length s)) as N0. set (h := inject_Z (Z.of_nat (length s))) in *.
    assert (LB : - (2 * M) * (1 + h) - 2 * M <= V x v (ret m p k)).
    { apply V_low; auto; [now rewrite E|nra|]. now rewrite E. }
    rewrite N. lra.
Qed.

Theorem family_low q s : ok m P r0 (At q s) -> - (4 * M) * height (At q s) <= G (At q s).
Proof.
  intros (Hq & K & S & F). destruct (good_frames s _ F) as [Hx _]. cbn [G height].
  pose proof (nat_nonneg (length s)) as N0. set (h := inject_Z (Z.of_nat (length s))) in *.
  assert (LB : - (2 * M) * (1 + h) - 2 * M <= V (fst (frames s)) (snd (frames s)) q).
  { apply V_low; auto; [nra|]. intros k Hk. exact (frames_low s _ F k Hk). }
  nra.
Qed.
End Low.

(* Never below 0: with exits that are worth at least 0, or with a floor and no weights. *)
Section Nonnegative.
Hypothesis Hw : forall x q, good (comp m q) x -> (q < nv m)%nat ->
  nsum (fun k => g (its x) q k * e x k) (nexits m (comp m q)) <= w x q.
Hypothesis He : forall x c, good c x -> nexits m c = O \/ exists z, (z < nexits m c)%nat /\ e x z <= 0.
Hypothesis Hworth : forall k, (k < nexits m (start_comp m))%nat -> 0 <= worth k.

Lemma V_nonneg x v q : good (comp m q) x -> (q < nv m)%nat ->
  (forall k, (k < nexits m (comp m q))%nat -> 0 <= v k) -> 0 <= V x v q.
Proof.
  intros Hx Hq Hv. unfold V. rewrite rise_eq. set (n := nexits m (comp m q)) in *.
  destruct (fm_prob H x q Hx Hq) as [G0 G1]. fold n in G0, G1. specialize (Hw x q Hx Hq). fold n in Hw.
  assert (MX : 0 <= top floor (excess x v) n).
  { destruct (He x _ Hx) as [N|[z [Hz E0]]]; [apply top_0; auto|]. fold n in Hz.
    pose proof (top_ge floor (excess x v) n z Hz). unfold excess in H0 at 1. specialize (Hv z Hz). lra. }
  assert (GV : nsum (fun k => g (its x) q k * excess x v k) n >= - nsum (fun k => g (its x) q k * e x k) n).
  { assert (E : - nsum (fun k => g (its x) q k * e x k) n == nsum (fun k => -1 * (g (its x) q k * e x k)) n) by (rewrite nsum_scale; ring).
    rewrite E. apply nsum_le. intros k Hk. specialize (G0 k Hk). specialize (Hv k Hk). unfold excess. nra. }
  set (a := nsum (g (its x) q) n) in *. set (y := top _ _ n) in *. assert (0 <= (1 - a) * y) by nra. lra.
Qed.

Lemma frames_nonneg s : forall c, fits m P r0 c s -> forall k, (k < nexits m c)%nat -> 0 <= snd (frames s) k.
Proof.
  induction s as [|p s IH]; intros c F k Hk.
  - simpl in *. subst. auto.
  - destruct F as [Hp [[en [K C]] [S F]]]. specialize (IH _ F). destruct (good_frames s _ F) as [Hx _].
    simpl. destruct (frames s) as [x v]. simpl in *.
    destruct (wf_call m W p en Hp K) as [_ [_ RT]]. rewrite C in RT. destruct (RT k Hk) as [Hr [_ E]].
    apply V_nonneg; auto; rewrite E; auto.
Qed.

Theorem family_nonneg q s : ok m P r0 (At q s) -> 0 <= G (At q s).
Proof.
  intros (Hq & K & S & F). destruct (good_frames s _ F) as [Hx _]. cbn [G]. apply V_nonneg; auto.
  intros k Hk. exact (frames_nonneg s _ F k Hk).
Qed.
End Nonnegative.

(* Bounded from below: nothing is lost after a call returns. *)
Theorem family_returns M b : (forall x q k, e x k == 0 /\ (good (comp m q) x -> (q < nv m)%nat -> - M <= w x q)) ->
  (forall x p en k, good (comp m p) x -> (p < nv m)%nat -> kind_of m p = Call en -> (k < nexits m (comp m en))%nat -> 0 <= w x (ret m p k)) ->
  b <= 0 -> (forall k, (k < nexits m (start_comp m))%nat -> b <= worth k) ->
  forall q s, ok m P r0 (At q s) -> b - M <= G (At q s).
Proof.
  intros He Hr Hb Hworth.
  assert (R : forall x v q, good (comp m q) x -> (q < nv m)%nat ->
    (forall k, (k < nexits m (comp m q))%nat -> b <= v k) -> w x q + b <= V x v q).
  { intros x v q Hx Hq Hv. unfold V, rise. set (n := nexits m (comp m q)) in *. set (t := excess x v).
    set (mx := top floor t n). destruct (fm_prob H x q Hx Hq) as [B1 B2]. fold n in B1, B2.
    assert (T : forall k, (k < n)%nat -> b <= t k).
    { intros k Hk. specialize (Hv k Hk). destruct (He x q k) as [E _]. unfold t, excess. rewrite E. lra. }
    assert (LB : b <= mx).
    { destruct (Nat.eq_dec n 0) as [N|N].
      - pose proof (top_0 floor t n (or_intror N)). fold mx in H0. lra.
      - pose proof (top_ge floor t n 0 ltac:(lia)). fold mx in H0. specialize (T 0%nat ltac:(lia)). lra. }
    assert (A : nsum (fun k => g (its x) q k * (mx - t k)) n <= nsum (fun k => g (its x) q k * (mx - b)) n).
    { apply nsum_le. intros k Hk. specialize (B1 k Hk). specialize (T k Hk). nra. }
    unfold nsum in *. rewrite qsum_scale_r in A. set (sg := qsum (g (its x) q) (seq 0 n)) in *.
    assert (sg * (mx - b) <= 1 * (mx - b)) by (apply Qmult_le_compat_r; lra). lra. }
  assert (FR : forall s c, fits m P r0 c s -> forall k, (k < nexits m c)%nat -> b <= snd (frames s) k).
  { induction s as [|p s IH]; intros c F k Hk.
    - simpl in *. subst. auto.
    - destruct F as [Hp [[en [K C]] [S F]]]. specialize (IH _ F). destruct (good_frames s _ F) as [Hx _].
      simpl. destruct (frames s) as [x v]. simpl in *. destruct (wf_call m W p en Hp K) as [_ [_ RT]]. rewrite <- C in Hk.
      destruct (RT k Hk) as [Hq [_ E]]. specialize (Hr x p en k Hx Hp K Hk).
      assert (w x (ret m p k) + b <= V x v (ret m p k)); [|lra]. apply R; auto; rewrite E; auto. }
  intros q s (Hq & K & S & F). destruct (good_frames s _ F) as [Hx _]. cbn [G].
  specialize (R _ (snd (frames s)) q Hx Hq (FR s _ F)). destruct (He (fst (frames s)) q 0%nat) as [_ LB].
  specialize (LB Hx Hq). lra.
Qed.

Theorem family_floor M : floor = true -> (forall x q l, good (comp m q) x -> (q < nv m)%nat -> g (its x) q l == 0) ->
  (forall x q, good (comp m q) x -> (q < nv m)%nat -> seen P (its x) q = true -> M <= w x q) ->
  forall q s, ok m P r0 (At q s) -> M <= G (At q s).
Proof.
  intros F0 G0 HM q s (Hq & K & S & F). destruct (good_frames s _ F) as [Hx I]. rewrite <- I in S. cbn [G].
  specialize (HM _ q Hx Hq S). unfold V. rewrite rise_eq.
  set (n := nexits m (comp m q)). set (x := fst (frames s)) in *. set (t := excess x (snd (frames s))).
  assert (A : nsum (g (its x) q) n == 0).
  { rewrite <- (qsum_0 (seq 0 n)). apply nsum_eq. auto. }
  assert (B : nsum (fun k => g (its x) q k * t k) n == 0).
  { rewrite <- (qsum_0 (seq 0 n)). apply nsum_eq. intros k _. rewrite (G0 x q k Hx Hq). ring. }
  rewrite A, B. pose proof (top_0 floor t n (or_introl F0)). lra.
Qed.
End Family.
