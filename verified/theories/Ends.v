(* Totals of one policy, from bounds of what single steps do: if it takes finitely many steps on
   average; or by costs, whether it ends or not. Excluded middle serves for the convergence of
   bounded sequences, and to tell the two cases of costs apart. *)
From Coq Require Import QArith Lqa List Lia Bool ZArith Classical.
Import ListNotations.
From Recurl Require Import Meaning Sums Runs.
Open Scope Q_scope.

Lemma nat_S n : inject_Z (Z.of_nat (S n)) == 1 + inject_Z (Z.of_nat n).
Proof. rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. reflexivity. Qed.
Lemma nat_nonneg n : 0 <= inject_Z (Z.of_nat n).
Proof. unfold Qle; simpl; lia. Qed.

Definition nothing : reward := fun _ _ => 0.
Definition alive (c : conf) : Q := match c with Stop _ => 0 | At _ _ => 1 end.
Definition height (c : conf) : Q := match c with Stop _ => 0 | At _ s => 1 + inject_Z (Z.of_nat (length s)) end.
(* Expected steps among the first n, and the probability to go on after them. *)
Definition taken m pi (n : nat) (h : hist) (c : conf) : Q := ev m pi (fun _ _ => 1) (fun _ _ => 0) n h c.
Definition going m pi (n : nat) (h : hist) (c : conf) : Q := ev m pi nothing (fun _ => alive) n h c.

Lemma height_nonneg c : 0 <= height c.
Proof. destruct c as [k|q s]; simpl; [lra|]. pose proof (nat_nonneg (length s)). lra. Qed.

Section Ends.
Variable m : model.
Hypothesis W : wf m.
Variable P : plan.
Hypothesis CL : closed m P.
Variable r0 : nat.
Hypothesis R0 : copy_of P r0 (start_comp m).
Variable pi : policy.
Hypothesis L : follows m P r0 pi.
Notation ok := (ok m P r0).
Notation falls := (falls m P r0).
Notation ev := (ev m pi).
Notation taken := (taken m pi).
Notation going := (going m pi).

Lemma height_next q s q' : height (At q s) - 1 <= height (settle m q' s) <= height (At q s) + 1.
Proof.
  unfold settle. destruct (kind_of m q') as [|k|en]; cbn [height]; [lra| |].
  - destruct s as [|p s]; cbn [height length].
    + change (inject_Z (Z.of_nat 0)) with 0. lra.
    + rewrite nat_S. lra.
  - cbn [length]. rewrite nat_S. lra.
Qed.

Lemma ev_nothing n h c : ev nothing (fun _ _ => 0) n h c == 0.
Proof.
  revert h c. induction n as [|n IH]; intros h c; simpl; [reflexivity|]. destruct c as [k|q s]; [reflexivity|].
  rewrite (qsum_eq _ (fun _ => 0)); [apply qsum_0|]. intros wi _.
  unfold step. rewrite (qsum_eq _ (fun _ => 0)), qsum_0; [ring|]. intros t _. rewrite IH. unfold nothing. ring.
Qed.

Lemma ev_nonneg G n h c : (forall h c, ok c -> 0 <= G h c) -> ok c -> 0 <= ev nothing G n h c.
Proof. intros HG Hc. rewrite <- (ev_nothing n h c). apply (ev_le m W P CL r0 R0 pi L); auto. intros; lra. Qed.

Lemma going_01 n h c : ok c -> 0 <= going n h c <= 1.
Proof.
  intros Hc. split.
  - apply ev_nonneg; auto. intros _ [|]; simpl; lra.
  - apply Qle_trans with (ev nothing (fun _ _ => 1) n h c).
    + apply (ev_le m W P CL r0 R0 pi L); auto; [intros; lra|]. intros _ [|]; simpl; intros; lra.
    + apply (ev_falls m W P CL r0 R0 pi L nothing (fun _ => 1)); auto. apply falls_const; auto.
Qed.

(* Every pending call takes a step more: either that many steps are taken, or the run goes on. *)
Lemma height_taken j : forall h c, ok c -> height c <= taken j h c + height c * going j h c.
Proof.
  unfold Ends.taken, Ends.going. induction j as [|j IH]; intros h c Hc.
  - destruct c; simpl; lra.
  - destruct c as [k|q s]; [simpl; lra|]. set (x := height (At q s)). assert (X1 : 1 <= x).
    { unfold x. simpl. pose proof (nat_nonneg (length s)). lra. }
    rewrite <- (ev_scale m pi x), <- (ev_plus m pi).
    assert (E : ev (fun _ _ => 0) (fun _ _ => 0) (S j) h (At q s) == 0) by apply ev_nothing.
    apply Qle_trans with (x + ev (fun _ _ => 0) (fun _ _ => 0) (S j) h (At q s)); [rewrite E, Qplus_0_r; apply Qle_refl|].
    apply (ev_step m W P CL r0 R0 pi L); auto. intros i t Ht O. set (h' := (At q s, i) :: h).
    rewrite (ev_nothing j h' (settle m (tgt t) s)), (ev_plus m pi (fun _ _ => 1)), (ev_scale m pi x).
    pose proof (IH h' _ O). pose proof (height_next q s (tgt t)). fold x in H0.
    pose proof (going_01 j h' _ O) as G. unfold Ends.going in G. unfold nothing in *.
    set (y := height _) in *. set (a := ev (fun _ _ => 1) _ j h' _) in *.
    set (g := ev (fun _ _ => 0) _ j h' _) in *. nra.
Qed.

Lemma going_taken n : forall h c, ok c -> inject_Z (Z.of_nat n) * going n h c <= taken n h c.
Proof.
  induction n as [|n IH]; intros h c Hc.
  - change (inject_Z (Z.of_nat 0)) with 0. rewrite Qmult_0_l. destruct c; apply Qle_refl.
  - destruct c as [k|q s]; [unfold Ends.going, Ends.taken; cbn; lra|].
    unfold Ends.going, Ends.taken. rewrite <- (ev_scale m pi).
    match goal with |- ?e <= _ => rewrite <- (Qplus_0_l e) end.
    apply (ev_step m W P CL r0 R0 pi L); auto. intros i t Ht O. set (h' := (At q s, i) :: h).
    pose proof (IH h' _ O) as I. rewrite (ev_scale m pi), nat_S. pose proof (going_01 n h' _ O).
    unfold Ends.going, Ends.taken in *. unfold nothing in *. set (g := ev (fun _ _ => 0) _ n h' _) in *. lra.
Qed.

Lemma taken_nonneg n h c : ok c -> 0 <= taken n h c.
Proof. intros Hc. pose proof (going_taken n h c Hc). pose proof (going_01 n h c Hc). pose proof (nat_nonneg n). nra. Qed.

Lemma taken_more n j h c : taken (n + j) h c == taken n h c + ev nothing (taken j) n h c.
Proof.
  unfold Ends.taken at 1. rewrite (ev_comp m pi).
  transitivity (ev (fun _ _ => 1 + 0) (fun h c => 0 + taken j h c) n h c).
  - apply ev_ext; intros; [ring|]. unfold Ends.taken. ring.
  - unfold Ends.taken at 2. apply (ev_plus m pi (fun _ _ => 1) nothing).
Qed.

Lemma taken_mono n j h c : ok c -> taken n h c <= taken (n + j) h c.
Proof. intros Hc. rewrite taken_more. pose proof (ev_nonneg (taken j) n h c (taken_nonneg j) Hc). lra. Qed.

Lemma height_going j n : forall h c, ok c ->
  ev nothing (fun h c => height c * going j h c) n h c <= (inject_Z (Z.of_nat n) + height c) * going (n + j) h c.
Proof.
  induction n as [|n IH]; intros h c Hc.
  - change (inject_Z (Z.of_nat 0)) with 0. cbn [Meaning.ev Nat.add]. lra.
  - destruct c as [k|q s]; [unfold Ends.going, Ends.taken; cbn; lra|].
    cbn [Nat.add]. unfold Ends.going at 2. rewrite <- (ev_scale m pi).
    match goal with |- ?e <= _ => rewrite <- (Qplus_0_l e) end.
    apply (ev_step m W P CL r0 R0 pi L); auto. intros i t Ht O. set (h' := (At q s, i) :: h).
    pose proof (IH h' _ O) as I. rewrite (ev_scale m pi), nat_S. pose proof (height_next q s (tgt t)).
    pose proof (going_01 (n + j) h' _ O). unfold nothing in *. set (g := going (n + j) h' (settle m (tgt t) s)) in *.
    match goal with |- _ <= _ + _ * ?e => change e with g end.
    set (x := height (At q s)) in *. set (y := height (settle m (tgt t) s)) in *. set (N := inject_Z (Z.of_nat n)) in *.
    assert ((N + y) * g <= (1 + N + x) * g) by (apply Qmult_le_compat_r; lra). lra.
Qed.

(* The expected height after n steps is at most the steps after n. *)
Lemma height_tail n j h c : ok c ->
  ev nothing (fun _ => height) n h c <=
  (taken (n + j) h c - taken n h c) + (inject_Z (Z.of_nat n) + height c) * going (n + j) h c.
Proof.
  intros Hc. rewrite taken_more.
  apply Qle_trans with (ev (fun c t => nothing c t + nothing c t) (fun h c => taken j h c + height c * going j h c) n h c).
  - apply (ev_le m W P CL r0 R0 pi L); auto; [unfold nothing; intros; lra|]. intros; now apply height_taken.
  - rewrite (ev_plus m pi nothing nothing). pose proof (height_going j n h c Hc). lra.
Qed.

(* Bounded increasing sequences settle. *)
Lemma settles (x : nat -> Q) B : (forall n j, x n <= x (n + j)%nat) -> (forall n, x n <= B) ->
  forall eps, 0 < eps -> exists N, forall n j, (N <= n)%nat -> x (n + j)%nat - x n <= eps.
Proof.
  intros Hm Hb eps He. apply NNPP. intros No.
  assert (Inc : forall N, exists n j, (N <= n)%nat /\ x n + eps < x (n + j)%nat).
  { intros N. apply NNPP. intros No2. apply No. exists N. intros n j Hn.
    destruct (Qlt_le_dec (x n + eps) (x (n + j)%nat)); [|lra]. exfalso. apply No2. now exists n, j. }
  assert (Up : forall k, exists n, x 0%nat + inject_Z (Z.of_nat k) * eps <= x n).
  { induction k as [|k [n Hn]].
    - exists 0%nat. change (inject_Z (Z.of_nat 0)) with 0. lra.
    - destruct (Inc n) as (n' & j & Hn' & Hj). exists (n' + j)%nat. rewrite nat_S.
      pose proof (Hm n (n' - n)%nat). replace (n + (n' - n))%nat with n' in H by lia. lra. }
  destruct (Qarchimedean ((B - x 0%nat) / eps)) as [p Hp]. destruct (Up (Pos.to_nat p)) as [n Hn].
  specialize (Hb n). rewrite positive_nat_Z in Hn.
  assert ((B - x 0%nat) / eps * eps < inject_Z (Zpos p) * eps) by (apply Qmult_lt_compat_r; auto).
  assert ((B - x 0%nat) / eps * eps == B - x 0%nat) by (field; lra). lra.
Qed.

Section Limit.
Variables (h0 : hist) (c0 : conf).
Hypothesis O0 : ok c0.

Section Finite.
Variable B : Q.
Hypothesis HB : forall n, taken n h0 c0 <= B.

Lemma height_vanishes eps : 0 < eps -> exists N, forall n, (N <= n)%nat ->
  ev nothing (fun _ => height) n h0 c0 <= eps.
Proof.
  intros He. destruct (settles (fun n => taken n h0 c0) B) with (eps := (1#2) * eps) as [N HN]; auto; [|lra|].
  - intros n j. now apply taken_mono.
  - exists N. intros n Hn. set (K := (inject_Z (Z.of_nat n) + height c0) * (B + 1)).
    destruct (Qarchimedean (K / ((1#2) * eps))) as [p Hp]. set (j := Pos.to_nat p).
    pose proof (height_tail n j h0 c0 O0). specialize (HN n j Hn). cbv beta in HN.
    pose proof (going_taken (n + j) h0 c0 O0). pose proof (HB (n + j)). pose proof (going_01 (n + j) h0 c0 O0).
    pose proof (taken_nonneg (n + j) h0 c0 O0).
    assert (K < inject_Z (Zpos p) * ((1#2) * eps)).
    { assert (K / ((1#2) * eps) * ((1#2) * eps) < inject_Z (Zpos p) * ((1#2)*eps)) by (apply Qmult_lt_compat_r; auto; lra).
      assert (K / ((1#2) * eps) * ((1#2) * eps) == K) by (field; lra). lra. }
    assert (PN : inject_Z (Zpos p) <= inject_Z (Z.of_nat (n + j))) by (unfold j, Qle; simpl; lia).
    pose proof (nat_nonneg n). pose proof (height_nonneg c0).
    assert (P1 : 0 < inject_Z (Zpos p)) by (unfold Qlt; simpl; lia).
    set (g := going (n + j) h0 c0) in *. set (u := inject_Z (Z.of_nat n) + height c0) in *.
    set (pp := inject_Z (Zpos p)) in *. set (nj := inject_Z (Z.of_nat (n + j))) in *.
    assert (pp * g <= B) by nra. assert (0 <= u) by (unfold u; lra).
    assert (pp * (u * g) <= pp * ((1#2) * eps)).
    { apply Qle_trans with (u * B); [|unfold K in H4; nra]. setoid_replace (pp * (u * g)) with (u * (pp * g)) by ring. nra. }
    assert (u * g <= (1#2) * eps) by (apply Qmult_le_l with pp; auto). lra.
Qed.

(* What does not rise on average bounds the total. *)
Theorem upper_limit r G T C : falls r G -> 0 <= C ->
  (forall c, ok c -> T c <= G c + C * height c) -> at_most (fun n => ev r (fun _ => T) n h0 c0) (G c0).
Proof.
  intros HG HC HT eps He. destruct (height_vanishes (eps / (C + 1))) as [N HN].
  { apply Qlt_shift_div_l; lra. }
  exists N. intros n Hn. specialize (HN n Hn). pose proof (ev_falls m W P CL r0 R0 pi L r G HG n h0 c0 O0) as F.
  assert (ev r (fun _ => T) n h0 c0 <= ev (fun c t => r c t + C * nothing c t) (fun _ c => G c + C * height c) n h0 c0).
  { apply (ev_le m W P CL r0 R0 pi L); auto. unfold nothing; intros; lra. }
  rewrite (ev_plus m pi r (fun c t => C * nothing c t) (fun _ => G) (fun _ c => C * height c)),
    (ev_scale m pi C nothing (fun _ => height)) in H.
  set (e := ev nothing (fun _ => height) n h0 c0) in *. assert (C * e <= eps); [|lra].
  assert (E : eps / (C + 1) * (C + 1) == eps) by (field; lra).
  assert (0 <= e) by (apply ev_nonneg; auto; intros; apply height_nonneg).
  assert (e * (C + 1) <= eps) by (rewrite <- E; apply Qmult_le_compat_r; lra). nra.
Qed.
End Finite.

(* No limits are needed where what is still to come is never worth less than T. *)
Theorem upper_always r G T : falls r G -> (forall c, ok c -> T c <= G c) -> at_most (fun n => ev r (fun _ => T) n h0 c0) (G c0).
Proof.
  intros HG HT eps He. exists 0%nat. intros n _. pose proof (ev_falls m W P CL r0 R0 pi L r G HG n h0 c0 O0) as F.
  assert (ev r (fun _ => T) n h0 c0 <= ev r (fun _ => G) n h0 c0); [|lra].
  apply (ev_le m W P CL r0 R0 pi L); auto. intros; lra.
Qed.

(* A potential Phi >= T - A that falls by more than what is paid, by k at least. *)
Section Potential.
Variables (r : reward) (T Phi : conf -> Q) (A k : Q).
Hypothesis Hk : 0 < k.
Hypothesis HP : falls (fun c t => r c t + k) Phi.
Hypothesis HA : forall c, ok c -> T c - A <= Phi c.

Lemma pays_steps n : ev r (fun _ => T) n h0 c0 <= Phi c0 + A - k * taken n h0 c0.
Proof.
  pose proof (ev_falls m W P CL r0 R0 pi L _ _ HP n h0 c0 O0) as F.
  assert (H : ev (fun c t => r c t + k * 1) (fun _ c => (T c + - (1) * A) + k * 0) n h0 c0 <=
          ev (fun c t => r c t + k) (fun _ => Phi) n h0 c0).
  { apply (ev_le m W P CL r0 R0 pi L); auto; [intros; lra|]. intros _ c Hc. specialize (HA c Hc). lra. }
  rewrite (ev_plus m pi r (fun _ _ => k * 1) (fun _ c => T c + - (1) * A) (fun _ _ => k * 0)),
    (ev_scale m pi k (fun _ _ => 1) (fun _ _ => 0)) in H.
  fold (taken n h0 c0) in H.
  assert (ev r (fun _ => T) n h0 c0 <= ev r (fun _ c => T c + - (1) * A) n h0 c0 + A); [|lra].
  assert (Z : ev r (fun _ => T) n h0 c0 <= ev (fun c t => r c t + nothing c t) (fun _ c => (T c + - (1) * A) + A) n h0 c0).
  { apply (ev_le m W P CL r0 R0 pi L); auto; unfold nothing; intros; cbv beta; lra. }
  rewrite (ev_plus m pi r nothing (fun _ c => T c + - (1) * A) (fun _ _ => A)) in Z.
  pose proof (ev_falls m W P CL r0 R0 pi L nothing (fun _ => A) (falls_const m W P r0 A) n h0 c0 O0) as Y.
  cbv beta in *. lra.
Qed.

Lemma never_enough x : (forall B, exists n, B < taken n h0 c0) ->
  exists N, forall n, (N <= n)%nat -> ev r (fun _ => T) n h0 c0 <= x.
Proof.
  intros U. destruct (U ((Phi c0 + A - x) / k)) as [N HN]. exists N. intros n Hn. pose proof (pays_steps n).
  pose proof (taken_mono N (n - N) h0 c0 O0). replace (N + (n - N))%nat with n in H0 by lia.
  assert ((Phi c0 + A - x) / k * k == Phi c0 + A - x) by (field; lra).
  assert ((Phi c0 + A - x) / k * k <= taken n h0 c0 * k) by (apply Qmult_le_compat_r; lra). lra.
Qed.

(* Costs: the policy takes finitely many steps, or pays infinitely much. *)
Theorem costs G C : falls r G -> 0 <= C -> (forall c, ok c -> T c <= G c + C * height c) ->
  at_most (fun n => ev r (fun _ => T) n h0 c0) (G c0).
Proof.
  intros HG HC HT. destruct (classic (exists B, forall n, taken n h0 c0 <= B)) as [[B HB]|No].
  - exact (upper_limit B HB r G T C HG HC HT).
  - intros eps He. apply never_enough. intros B. apply NNPP. intros N2. apply No. exists B. intros n.
    destruct (Qlt_le_dec B (taken n h0 c0)); auto. exfalso. apply N2. now exists n.
Qed.
End Potential.

(* What is below 0, and does not rise on average: infinitely many steps on average. *)
Theorem never_ends G M : 0 <= M -> G c0 < 0 -> falls nothing G ->
  (forall c, ok c -> 0 <= G c + M * height c) -> forall B, exists n, B < taken n h0 c0.
Proof.
  intros M0 G0 HG HM B. apply NNPP. intros No.
  assert (HB : forall n, taken n h0 c0 <= B).
  { intros n. destruct (Qlt_le_dec B (taken n h0 c0)); auto. exfalso. apply No. now exists n. }
  destruct (upper_limit B HB nothing G (fun _ => 0) M HG M0 HM (- (1#2) * G c0)) as [N HN]; [lra|].
  specialize (HN N (le_n _)). rewrite (ev_nothing N h0 c0) in HN. lra.
Qed.
End Limit.
End Ends.
