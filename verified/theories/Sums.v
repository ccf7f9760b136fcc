(* Finite sums of fractions, greatest elements, and their versions in whole numbers. *)
From Coq Require Import QArith Lqa List Lia Bool ZArith Arith.
Import ListNotations.
From Recurl Require Import Meaning.
Open Scope Q_scope.

Section Sums.
Context {A : Type}.
Implicit Types (f g : A -> Q) (l : list A).

Lemma qsum_le f g l : (forall x, In x l -> f x <= g x) -> qsum f l <= qsum g l.
Proof.
  induction l as [|x l IH]; simpl; intros H; [lra|].
  pose proof (H x (or_introl eq_refl)). assert (qsum f l <= qsum g l) by auto. lra.
Qed.

Lemma qsum_eq f g l : (forall x, In x l -> f x == g x) -> qsum f l == qsum g l.
Proof.
  induction l as [|x l IH]; simpl; intros H; [lra|].
  pose proof (H x (or_introl eq_refl)). assert (qsum f l == qsum g l) by auto. lra.
Qed.

Lemma qsum_plus f g l : qsum (fun x => f x + g x) l == qsum f l + qsum g l.
Proof. induction l as [|x l IH]; simpl; [lra|]. rewrite IH. ring. Qed.

Lemma qsum_scale c f l : qsum (fun x => c * f x) l == c * qsum f l.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma qsum_scale_r c f l : qsum (fun x => f x * c) l == qsum f l * c.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma qsum_minus f g l : qsum (fun x => f x - g x) l == qsum f l - qsum g l.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma qsum_0 l : qsum (fun _ => 0) l == 0.
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite IH. ring. Qed.

Lemma qsum_nonneg f l : (forall x, In x l -> 0 <= f x) -> 0 <= qsum f l.
Proof. intros H. rewrite <- (qsum_0 l). now apply qsum_le. Qed.

Lemma qsum_app f l k : qsum f (l ++ k) == qsum f l + qsum f k.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

(* Means: weights are at least 0 and sum to 1. *)
Lemma mean_le (p : A -> Q) f c l :
  (forall x, In x l -> 0 <= p x) -> qsum p l == 1 ->
  (forall x, In x l -> f x <= c) -> qsum (fun x => p x * f x) l <= c.
Proof.
  intros Hp H1 Hf.
  assert (qsum (fun x => p x * f x) l <= qsum (fun x => p x * c) l).
  { apply qsum_le. intros x Hx. specialize (Hp x Hx); specialize (Hf x Hx). nra. }
  rewrite qsum_scale_r, H1 in H. lra.
Qed.

Lemma mean_ge (p : A -> Q) f c l :
  (forall x, In x l -> 0 <= p x) -> qsum p l == 1 ->
  (forall x, In x l -> c <= f x) -> c <= qsum (fun x => p x * f x) l.
Proof.
  intros Hp H1 Hf.
  assert (qsum (fun x => p x * c) l <= qsum (fun x => p x * f x) l).
  { apply qsum_le. intros x Hx. specialize (Hp x Hx); specialize (Hf x Hx). nra. }
  rewrite qsum_scale_r, H1 in H. lra.
Qed.
End Sums.

Lemma qsum_map {A B} (h : A -> B) (f : B -> Q) l : qsum f (map h l) = qsum (fun x => f (h x)) l.
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. now rewrite IH. Qed.

Lemma qsum_flat_map {A B} (h : A -> list B) (f : B -> Q) l :
  qsum f (flat_map h l) == qsum (fun x => qsum f (h x)) l.
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite qsum_app, IH. reflexivity. Qed.

Lemma qsum_swap {A B} (f : A -> B -> Q) l k :
  qsum (fun x => qsum (f x) k) l == qsum (fun y => qsum (fun x => f x y) l) k.
Proof.
  induction l as [|x l IH]; simpl.
  - now rewrite qsum_0.
  - rewrite IH, <- qsum_plus. reflexivity.
Qed.

(* Sums over 0 .. n - 1. *)
Definition nsum (f : nat -> Q) (n : nat) : Q := qsum f (seq 0 n).

Lemma nsum_le f g n : (forall k, (k < n)%nat -> f k <= g k) -> nsum f n <= nsum g n.
Proof. intros H. apply qsum_le. intros k Hk. apply in_seq in Hk. apply H. lia. Qed.

Lemma nsum_eq f g n : (forall k, (k < n)%nat -> f k == g k) -> nsum f n == nsum g n.
Proof. intros H. apply qsum_eq. intros k Hk. apply in_seq in Hk. apply H. lia. Qed.

Lemma nsum_nonneg f n : (forall k, (k < n)%nat -> 0 <= f k) -> 0 <= nsum f n.
Proof. intros H. apply qsum_nonneg. intros k Hk. apply in_seq in Hk. apply H. lia. Qed.

Lemma nsum_plus f g n : nsum (fun k => f k + g k) n == nsum f n + nsum g n.
Proof. apply qsum_plus. Qed.

Lemma nsum_scale c f n : nsum (fun k => c * f k) n == c * nsum f n.
Proof. apply qsum_scale. Qed.

Lemma nsum_single f n k : (k < n)%nat -> (forall j, (j < n)%nat -> j <> k -> f j == 0) -> nsum f n == f k.
Proof.
  unfold nsum. revert k. induction n as [|n IH]; [lia|]. intros k Hk H.
  rewrite seq_S, qsum_app. simpl. destruct (Nat.eq_dec k n) as [->|].
  - rewrite (qsum_eq f (fun _ => 0)), qsum_0; [ring|]. intros j Hj. apply in_seq in Hj. apply H; lia.
  - rewrite (IH k), (H n); [ring|lia|lia|lia|]. intros. apply H; lia.
Qed.

(* The greatest of f 0 .. f (n - 1): 0 if there are none, and at least 0 with a floor. *)
Definition qmax (x y : Q) : Q := if Qle_bool x y then y else x.
Fixpoint qmaxn (f : nat -> Q) (n : nat) : Q :=
  match n with O => f O | S n => qmax (qmaxn f n) (f n) end.
Definition top (floor : bool) (f : nat -> Q) (n : nat) : Q :=
  match n with O => 0 | S _ => if floor then qmax 0 (qmaxn f n) else qmaxn f n end.

Lemma qmax_spec x y : x <= qmax x y /\ y <= qmax x y /\ (qmax x y == x \/ qmax x y == y).
Proof.
  unfold qmax. destruct (Qle_bool x y) eqn:E.
  - apply Qle_bool_iff in E. lra.
  - assert (~ x <= y) by (rewrite <- Qle_bool_iff; congruence). lra.
Qed.

Lemma qmaxn_ge f n k : (k < n)%nat -> f k <= qmaxn f n.
Proof.
  induction n as [|n IH]; [lia|]. intros Hk. simpl. destruct (qmax_spec (qmaxn f n) (f n)) as [A [B _]].
  destruct (Nat.eq_dec k n); [now subst|]. assert (f k <= qmaxn f n) by (apply IH; lia). lra.
Qed.

Lemma qmaxn_le f n c : f O <= c -> (forall k, (k < n)%nat -> f k <= c) -> qmaxn f n <= c.
Proof.
  intros H0. induction n as [|n IH]; simpl; auto. intros H.
  assert (qmaxn f n <= c) by (apply IH; intros; apply H; lia). assert (f n <= c) by (apply H; lia).
  destruct (qmax_spec (qmaxn f n) (f n)) as [_ [_ [E|E]]]; lra.
Qed.

Lemma top_ge b f n k : (k < n)%nat -> f k <= top b f n.
Proof.
  intros Hk. pose proof (qmaxn_ge f n k Hk). destruct n; [lia|]. unfold top. destruct b; auto.
  destruct (qmax_spec 0 (qmaxn f (S n))) as [_ [B _]]. lra.
Qed.

Lemma top_0 b f n : b = true \/ n = O -> 0 <= top b f n.
Proof.
  intros [-> | ->]; [|simpl; lra]. destruct n; simpl; [lra|].
  destruct (qmax_spec 0 (qmax (qmaxn f n) (f n))) as [A _]. exact A.
Qed.

Lemma top_le b f n c : (forall k, (k < n)%nat -> f k <= c) -> (b = true \/ n = O -> 0 <= c) -> top b f n <= c.
Proof.
  intros H H0. destruct n as [|n]; [simpl; auto|]. pose proof (qmaxn_le f (S n) c (H 0%nat ltac:(lia)) H).
  unfold top. destruct b; auto. destruct (qmax_spec 0 (qmaxn f (S n))) as [_ [_ [E|E]]]; rewrite E; auto.
Qed.

Lemma top_one f : top false f 1 == f O.
Proof. simpl. destruct (qmax_spec (f O) (f O)) as [_ [_ [E|E]]]; exact E. Qed.

Lemma top_shift b f g n x : (forall k, (k < n)%nat -> f k <= g k + x) -> (b = true \/ n = O -> 0 <= x) ->
  top b f n <= top b g n + x.
Proof.
  intros H H0. apply top_le.
  - intros k Hk. specialize (H k Hk). pose proof (top_ge b g n k Hk). lra.
  - intros C. specialize (H0 C). pose proof (top_0 b g n C). lra.
Qed.

Lemma top_ext b f g n : (forall k, (k < n)%nat -> f k == g k) -> top b f n == top b g n.
Proof.
  intros H. apply Qle_antisym.
  - pose proof (top_shift b f g n 0). rewrite Qplus_0_r in H0. apply H0; [|lra]. intros k Hk. rewrite (H k Hk). lra.
  - pose proof (top_shift b g f n 0). rewrite Qplus_0_r in H0. apply H0; [|lra]. intros k Hk. rewrite (H k Hk). lra.
Qed.

(* By how much a value rises with the values t at exits that are reached with weights gs at least. *)
Definition rise (b : bool) (gs t : nat -> Q) (n : nat) : Q :=
  top b t n - nsum (fun k => gs k * (top b t n - t k)) n.

Lemma rise_eq b gs t n : rise b gs t n == (1 - nsum gs n) * top b t n + nsum (fun k => gs k * t k) n.
Proof.
  unfold rise. assert (E : nsum (fun k => gs k * (top b t n - t k)) n ==
    nsum gs n * top b t n + -1 * nsum (fun k => gs k * t k) n).
  { unfold nsum. rewrite <- qsum_scale_r, <- qsum_scale, <- qsum_plus. apply qsum_eq. intros; ring. }
  rewrite E. ring.
Qed.

Lemma rise_ext b gs t t' n : (forall k, (k < n)%nat -> t k == t' k) -> rise b gs t n == rise b gs t' n.
Proof.
  intros Ht. rewrite !rise_eq, (top_ext b t t' n Ht).
  apply Qplus_comp; [reflexivity|]. apply nsum_eq. intros k Hk. now rewrite (Ht k Hk).
Qed.

(* The rise of a mean is at most the mean of the rises. *)
Lemma rise_mean b gs n (l : list (Q * nat)) (t : nat -> nat -> Q) : nsum gs n <= 1 ->
  (forall li, In li l -> 0 <= fst li) ->
  rise b gs (fun k => qsum (fun li => fst li * t (snd li) k) l) n <= qsum (fun li => fst li * rise b gs (t (snd li)) n) l.
Proof.
  intros G1 Hl. rewrite rise_eq.
  assert (E : qsum (fun li => fst li * rise b gs (t (snd li)) n) l ==
    (1 - nsum gs n) * qsum (fun li => fst li * top b (t (snd li)) n) l
    + nsum (fun k => gs k * qsum (fun li => fst li * t (snd li) k) l) n).
  { rewrite (qsum_eq _ (fun li => (1 - nsum gs n) * (fst li * top b (t (snd li)) n)
        + qsum (fun k => gs k * (fst li * t (snd li) k)) (seq 0 n))).
    - rewrite qsum_plus, qsum_scale, qsum_swap. apply Qplus_comp; [reflexivity|]. unfold nsum.
      apply qsum_eq. intros k _. now rewrite qsum_scale.
    - intros li _. rewrite rise_eq, Qmult_plus_distr_r. unfold nsum. rewrite <- qsum_scale.
      apply Qplus_comp; [ring|]. apply qsum_eq. intros; ring. }
  rewrite E. set (a := nsum gs n) in *.
  assert (M : top b (fun k => qsum (fun li => fst li * t (snd li) k) l) n <= qsum (fun li => fst li * top b (t (snd li)) n) l).
  { apply top_le.
    - intros k Hk. apply qsum_le. intros li Hi. specialize (Hl li Hi). pose proof (top_ge b (t (snd li)) n k Hk). nra.
    - intros C. apply qsum_nonneg. intros li Hi. specialize (Hl li Hi). pose proof (top_0 b (t (snd li)) n C). nra. }
  set (x := top _ _ n) in *. set (y := qsum _ l) in *. nra.
Qed.

(* Whole numbers. *)
Open Scope Z_scope.
Fixpoint zsum {A} (f : A -> Z) (l : list A) : Z := match l with [] => 0 | x :: l => f x + zsum f l end.
Fixpoint nzsum (f : nat -> Z) (n : nat) : Z := match n with O => 0 | S n => nzsum f n + f n end.
Fixpoint zmaxn (f : nat -> Z) (n : nat) : Z :=
  match n with O => f O | S O => f O | S n => Z.max (zmaxn f n) (f n) end.
Definition ztop (floor : bool) (f : nat -> Z) (n : nat) : Z :=
  match n with O => 0 | S _ => if floor then Z.max 0 (zmaxn f n) else zmaxn f n end.
Definition zrise (floor weighted : bool) (u : Z) (gs t : nat -> Z) (n : nat) : Z :=   (* times u *)
  let x := ztop floor t n in
  if weighted then u * x - nzsum (fun k => gs k * (x - t k)) n else u * x.

Fixpoint all_below (n : nat) (f : nat -> bool) : bool :=
  match n with O => true | S n => if f n then all_below n f else false end.

Lemma all_below_spec n f : all_below n f = true -> forall i, (i < n)%nat -> f i = true.
Proof.
  induction n as [|n IH]; simpl; [lia|]. destruct (f n) eqn:E; [|easy].
  intros H i Hi. destruct (Nat.eq_dec i n); [now subst|]. apply IH; auto; lia.
Qed.

(* Finitely many numbers have a bound. *)
Lemma bounded1 (f : nat -> Z) n : exists M, 0 <= M /\ forall i, (i < n)%nat -> Z.abs (f i) <= M.
Proof.
  induction n as [|n [M [HM H]]].
  - exists 0. split; [lia|]. intros; lia.
  - exists (M + Z.abs (f n)). split; [lia|]. intros i Hi.
    destruct (Nat.eq_dec i n); [subst; lia|]. specialize (H i). lia.
Qed.

Lemma bounded2 (f : nat -> nat -> Z) n k :
  exists M, 0 <= M /\ forall i j, (i < n)%nat -> (j < k)%nat -> Z.abs (f i j) <= M.
Proof.
  induction n as [|n [M [HM H]]].
  - exists 0. split; [lia|]. intros; lia.
  - destruct (bounded1 (f n) k) as [M' [HM' H']].
    exists (M + M'). split; [lia|]. intros i j Hi Hj.
    destruct (Nat.eq_dec i n); [subst; specialize (H' j Hj); lia|]. specialize (H i j). lia.
Qed.

Lemma bounded_list {A} (f : A -> Z) (l : list A) : exists M, 0 <= M /\ forall x, In x l -> Z.abs (f x) <= M.
Proof.
  induction l as [|x l [M [HM H]]].
  - exists 0. split; [lia|]. intros ? [].
  - exists (M + Z.abs (f x)). split; [lia|]. intros y [<-|Hy]; [lia|]. specialize (H y Hy). lia.
Qed.

(* Inequalities of fractions as those of whole numbers. *)
Ltac whole := unfold Qle, Qlt, Qplus, Qmult, Qopp, inject_Z; cbn [Qnum Qden];
  rewrite ?Pos.mul_1_r, ?Z.mul_1_r, ?Pos2Z.inj_mul in *; nia.
Ltac same_fraction := unfold Qeq, Qminus, Qplus, Qopp, Qmult, inject_Z; cbn [Qnum Qden];
  rewrite ?Pos.mul_1_r, ?Pos2Z.inj_mul; ring.

Lemma to_pos z : 0 < z -> exists p, z = Zpos p /\ Z.to_pos z = p.
Proof. intros H. exists (Z.to_pos z). split; auto. now rewrite Z2Pos.id. Qed.

Open Scope Q_scope.
Lemma qsum_z {A} (f g : A -> Z) T V l :
  qsum (fun t => (f t # T) * (g t # V)) l == (zsum (fun t => f t * g t)%Z l # (T * V)).
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite IH, <- Qinv_plus_distr. reflexivity. Qed.

Lemma qsum_z1 {A} (f : A -> Z) T l : qsum (fun t => f t # T) l == (zsum f l # T).
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite IH, <- Qinv_plus_distr. reflexivity. Qed.

Lemma qsum_z0 {A} (f g : A -> Z) T l :
  qsum (fun t => (f t # T) * inject_Z (g t)) l == (zsum (fun t => f t * g t)%Z l # T).
Proof. unfold inject_Z. rewrite qsum_z. rewrite Pos.mul_1_r. reflexivity. Qed.

Lemma zsum_app {A} (f : A -> Z) l k : (zsum f (l ++ k) = zsum f l + zsum f k)%Z.
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. rewrite IH. ring. Qed.

Lemma nzsum_zsum f n : nzsum f n = zsum f (seq 0 n).
Proof. induction n as [|n IH]; [reflexivity|]. rewrite seq_S, zsum_app. simpl. rewrite IH. ring. Qed.

Lemma nsum_zz f g T V n :
  nsum (fun k => (f k # T) * (g k # V)) n == (nzsum (fun k => f k * g k)%Z n # (T * V)).
Proof. unfold nsum. rewrite nzsum_zsum. apply qsum_z. Qed.

Lemma nsum_z0 f g T n : nsum (fun k => (f k # T) * inject_Z (g k)) n == (nzsum (fun k => f k * g k)%Z n # T).
Proof. unfold nsum. rewrite nzsum_zsum. apply qsum_z0. Qed.

Lemma nsum_z1 f T n : nsum (fun k => f k # T) n == (nzsum f n # T).
Proof. unfold nsum. rewrite nzsum_zsum. apply qsum_z1. Qed.

Lemma sum_is_one {A} (f : A -> Z) t l : (0 < t)%Z -> zsum f l = t -> qsum (fun x => f x # Z.to_pos t) l == 1.
Proof. intros H0 H. rewrite qsum_z1, H. unfold Qeq; cbn [Qnum Qden]. rewrite Z2Pos.id; lia. Qed.

Lemma qmaxn_z t L n : qmaxn (fun k => t k # L) n == (zmaxn t n # L).
Proof.
  induction n as [|n IH]; [reflexivity|]. cbn [qmaxn].
  destruct (qmax_spec (qmaxn (fun k => t k # L) n) (t n # L)) as [A [B C]].
  destruct n as [|n].
  - simpl in *. destruct C as [C|C]; rewrite C; reflexivity.
  - change (zmaxn t (S (S n))) with (Z.max (zmaxn t (S n)) (t (S n))). set (z := zmaxn t (S n)) in *.
    set (y := qmax _ _) in *. clearbody y. set (x := qmaxn _ _) in *. clearbody x z.
    rewrite IH in A, C. apply Qle_antisym.
    + destruct C as [C|C]; rewrite C; whole.
    + destruct (Z.max_spec z (t (S n))) as [[_ ->]|[_ ->]]; auto.
Qed.

Lemma top_z b t L n : top b (fun k => t k # L) n == (ztop b t n # L).
Proof.
  unfold top, ztop. destruct n as [|n]; [reflexivity|]. pose proof (qmaxn_z t L (S n)) as E.
  destruct b; auto. set (x := qmaxn _ (S n)) in *. set (z := zmaxn t (S n)) in *. clearbody x z.
  destruct (qmax_spec 0 x) as [A [B C]]. set (y := qmax 0 x) in *. clearbody y. rewrite E in B, C.
  apply Qle_antisym.
  - destruct C as [C|C]; rewrite C; whole.
  - destruct (Z.max_spec 0 z) as [[_ ->]|[_ ->]]; auto. eapply Qle_trans; [|exact A]. whole.
Qed.

Lemma rise_z b u L gs t n :
  rise b (fun k => gs k # u) (fun k => t k # L) n == (zrise b true (Zpos u) gs t n # (u * L)).
Proof.
  unfold rise, zrise. set (x := ztop b t n). set (y := top b (fun k => t k # L) n).
  assert (Y : y == (x # L)) by apply top_z.
  assert (E : nsum (fun k => (gs k # u) * (y - (t k # L))) n == (nzsum (fun k => gs k * (x - t k))%Z n # (u * L))).
  { rewrite <- nsum_zz. apply nsum_eq. intros k _. rewrite Y. apply Qmult_comp; [reflexivity|]. same_fraction. }
  rewrite E, Y. same_fraction.
Qed.

Lemma rise_z0 b u L t n : rise b (fun _ => 0) (fun k => t k # L) n == (zrise b false (Zpos u) (fun _ => 0%Z) t n # (u * L)).
Proof.
  rewrite rise_eq. unfold zrise. rewrite top_z.
  assert (A : nsum (fun _ => 0) n == 0) by apply qsum_0.
  assert (B : nsum (fun k => 0 * (t k # L)) n == 0).
  { rewrite <- (qsum_0 (seq 0 n)). apply nsum_eq. intros; ring. }
  rewrite A, B. same_fraction.
Qed.

Lemma frac_le z t y : (0 < t)%Z -> (z <= t * y)%Z -> z # Z.to_pos t <= inject_Z y.
Proof. intros H0 H. rewrite <- (Z2Pos.id t H0) in H. whole. Qed.
