(* The program: [verify], with machine integers for natural numbers, and zarith for whole numbers. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt.
From Recurl Require Import Verify.
Extraction Language OCaml.
Extraction "checker.ml" verify.
