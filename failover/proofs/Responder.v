(* SPDX-License-Identifier: BSD-3-Clause

   The responder of a reliable connection as a function: one request packet in, memory and a reply
   out. It executes the packet whose PSN it expects and no other. A duplicate is answered without
   another execution: WRITE with an acknowledgement, an atomic from the responder's record of its
   own answers, READ by reading again. PSNs count from 0 and do not wrap here. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations.
Import ListNotations.

Record responder := Responder {
  expected : nat;          (* ePSN *)
  answers : list result    (* what was answered to the PSNs below, oldest first *)
}.

Definition new_responder : responder := Responder 0 [].

Inductive reply : Type :=
| Reply (r : result)
| Nak.                     (* sequence error: something before this packet is missing *)

Definition answer_again (o : op) (m : memory) (first : result) : result :=
  match o with
  | READ a => Old (m a)
  | _ => first
  end.

Definition respond (q : responder) (m : memory) (psn : nat) (o : op)
  : responder * memory * reply :=
  if Nat.eqb psn (expected q) then
    (Responder (S (expected q)) (answers q ++ [answer o m]), apply o m, Reply (answer o m))
  else if Nat.ltb psn (expected q) then
    match nth_error (answers q) psn with
    | Some first => (q, m, Reply (answer_again o m first))
    | None => (q, m, Nak)
    end
  else (q, m, Nak).

(* A responder that was made by new_responder and respond knows an answer for each PSN below. *)
Definition coherent (q : responder) : Prop := length (answers q) = expected q.

Lemma new_responder_coherent : coherent new_responder.
Proof. reflexivity. Qed.

Lemma respond_coherent : forall q m psn o, coherent q -> coherent (fst (fst (respond q m psn o))).
Proof.
  intros q m psn o h. unfold respond.
  destruct (Nat.eqb psn (expected q)).
  - unfold coherent in *. cbn. rewrite app_length, h. cbn. apply Nat.add_1_r.
  - destruct (Nat.ltb psn (expected q)); [destruct (nth_error (answers q) psn) |]; exact h.
Qed.

Lemma respond_expected : forall q m o,
  respond q m (expected q) o =
  (Responder (S (expected q)) (answers q ++ [answer o m]), apply o m, Reply (answer o m)).
Proof. intros q m o. unfold respond. rewrite Nat.eqb_refl. reflexivity. Qed.

(* The guarantee of the transport: whatever else arrives, memory stays as it is. *)
Lemma respond_unexpected : forall q m psn o, psn <> expected q ->
  fst (respond q m psn o) = (q, m).
Proof.
  intros q m psn o h. apply Nat.eqb_neq in h. unfold respond. rewrite h.
  destruct (Nat.ltb psn (expected q)); [destruct (nth_error (answers q) psn) |]; reflexivity.
Qed.

(* A duplicate of an atomic gets the answer of its execution, whatever memory holds by now. *)
Lemma respond_duplicate : forall q m psn o first,
  psn < expected q -> nth_error (answers q) psn = Some first ->
  match o with READ _ => False | _ => True end ->
  respond q m psn o = (q, m, Reply first).
Proof.
  intros q m psn o first h k l. unfold respond.
  replace (Nat.eqb psn (expected q)) with false by (symmetry; apply Nat.eqb_neq; lia).
  replace (Nat.ltb psn (expected q)) with true by (symmetry; apply Nat.ltb_lt; exact h).
  rewrite k. destruct o; [reflexivity | contradiction | reflexivity | reflexivity].
Qed.
