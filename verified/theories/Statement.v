(* The theorem. Meaning.v defines every word of it but [verify]; nothing else needs to be read to
   know what is proved. *)
From Recurl Require Import Meaning Runs CheckModel Verify.

Theorem verified : forall (m : model) (u : question) (c : claim) (cert : certificate),
  verify m u c cert = true -> meaning m u c.
Proof.
  intros m u c cert H. apply (verify_sound m) with (cert := cert); auto.
  unfold verify in H. rewrite !Bool.andb_true_iff in H. tauto.
Qed.

(* There are policies: what holds for all of them says something. *)
Theorem policies_exist : forall m, check_model m = true -> exists pi, legal m pi.
Proof. intros m H. exact (legal_exists m (check_model_wf m H)). Qed.

Print Assumptions verified.
Print Assumptions policies_exist.
