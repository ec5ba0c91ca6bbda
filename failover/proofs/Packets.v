(* SPDX-License-Identifier: BSD-3-Clause

   A WRITE of many packets. The responder executes them in order, so what a broken connection leaves
   is a prefix: a state that neither sender nor receiver asked for. Posting the whole WRITE again
   repairs it while others leave the target alone; a reader in between sees neither old nor new. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations Traces Impossibility Recovery.
From PortcullisFailover Require Import Verdicts.
Import ListNotations.

(* One word a packet: its place and what is written there. *)
Definition packets := list (addr * word).

Fixpoint place (ps : packets) (m : memory) : memory :=
  match ps with
  | [] => m
  | (a, v) :: rest => place rest (apply (WRITE a v) m)
  end.

(* Memories that agree outside a WRITE's target agree everywhere after it. *)
Lemma place_overrides : forall ps m m',
  (forall b, ~ In b (map fst ps) -> m b = m' b) -> place ps m == place ps m'.
Proof.
  induction ps as [| [a v] ps IH]; intros m m' h; cbn.
  - intro b. apply h. intros [].
  - apply IH. intros b k. unfold write. destruct (Nat.eqb_spec b a); [reflexivity |].
    apply h. cbn. intros [e | e]; [congruence | exact (k e)].
Qed.

Lemma place_elsewhere : forall ps m b, ~ In b (map fst ps) -> place ps m b = m b.
Proof.
  induction ps as [| [a v] ps IH]; intros m b h; cbn in *; [reflexivity |].
  rewrite IH by tauto. apply (read_write_other m b a v). intro e. apply h. left. congruence.
Qed.

Lemma place_respects : forall ps m m', m == m' -> place ps m == place ps m'.
Proof. intros ps m m' h. apply place_overrides. intros b _. apply h. Qed.

Lemma in_firstn : forall (ps : packets) k b,
  In b (map fst (firstn k ps)) -> In b (map fst ps).
Proof.
  intros ps k b h. rewrite <- (firstn_skipn k ps), map_app. apply in_or_app. left. exact h.
Qed.

(* However many packets arrived, the whole WRITE posted again leaves what one WRITE leaves. *)
Theorem torn_write_repostable : forall ps k m, place ps (place (firstn k ps) m) == place ps m.
Proof.
  intros ps k m. apply place_overrides. intros b h. apply place_elsewhere.
  intro i. exact (h (in_firstn ps k b i)).
Qed.

(* Late packets of the first attempt, any prefix of them, after the repost: still nothing. *)
Theorem late_packets_absorbed : forall ps k m, NoDup (map fst ps) ->
  place (firstn k ps) (place ps m) == place ps m.
Proof.
  induction ps as [| [a v] ps IH]; intros k m d; destruct k; cbn [firstn place]; try reflexivity.
  inversion d as [| x l out d' e]; subst.
  assert (same_there : apply (WRITE a v) (place ps (apply (WRITE a v) m)) ==
                       place ps (apply (WRITE a v) m)).
  { apply write_present. rewrite place_elsewhere by exact out. apply write_at. }
  etransitivity; [apply place_respects, same_there | apply IH, d'].
Qed.

(* A reader between the two sees a mixture: two packets, the first one arrived. *)
Theorem torn_write_is_neither : forall a b u v m, a <> b -> m a <> u -> m b <> v ->
  let ps := [(a, u); (b, v)] in
  let torn := place (firstn 1 ps) m in
  ~ torn == m /\ ~ torn == place ps m.
Proof.
  intros a b u v m d na nb ps torn. split; intro h.
  - specialize (h a). subst torn. cbn in h. rewrite write_at in h. congruence.
  - specialize (h b). subst torn. cbn in h. rewrite write_at in h.
    unfold write in h. replace (Nat.eqb b a) with false in h; [congruence |].
    symmetry. apply Nat.eqb_neq. congruence.
Qed.

(* And a packet that arrives after the owner reused its buffer destroys what he put there. *)
Theorem late_packet_is_a_ghost : forall a v w m, w <> v ->
  place (firstn 1 [(a, v)]) (write (place [(a, v)] m) a w) a <> w.
Proof. intros a v w m d. cbn. rewrite write_at. congruence. Qed.
