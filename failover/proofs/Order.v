(* SPDX-License-Identifier: BSD-3-Clause

   The order of one reliable connection: work requests execute in posting order, a prefix of them,
   so what was placed later is never undone by what was posted earlier. And what becomes of that
   order when a chain is posted again: it is kept within a connection, not across two. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder Traces Impossibility.
From PortcullisFailover Require Import Recovery Verdicts Packets Verification Receipts.
Import ListNotations.

(* The work requests that executed, in the order in which they did. *)
Definition executed_order (t : trace) : list nat :=
  flat_map (fun e => match e with Executed i _ => [i] | _ => [] end) t.

Lemma executed_order_app : forall t t',
  executed_order (t ++ t') = executed_order t ++ executed_order t'.
Proof. apply flat_map_app. Qed.

Theorem executes_in_posting_order : forall G m t s, run G (fresh m) t s ->
  executed_order t = seq 0 (expected (server s)).
Proof.
  intros G m t s h. induction h as [| t s e s' h IH st]; [reflexivity |].
  rewrite executed_order_app, IH.
  destruct st; cbn [server executed_order flat_map app]; rewrite ?app_nil_r; try reflexivity.
  - subst i. rewrite respond_expected in *.
    match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end. cbn [expected].
    symmetry. apply seq_S.
  - match goal with h : respond q m0 _ _ = _, d : _ <> _ |- _ =>
      pose proof (respond_unexpected q m0 _ o d) as k; rewrite h in k; injection k as -> -> end.
    reflexivity.
Qed.

Lemma split_seq_ordered : forall l l' first n i j,
  l ++ l' = seq first n -> In j l -> In i l' -> j < i.
Proof.
  induction l as [| x l IH]; intros l' first n i j e hj hi; [contradiction |].
  destruct n as [| n]; [discriminate |]. cbn in e. injection e as -> e.
  destruct hj as [<- | hj].
  - assert (k : In i (seq (S first) n)) by (rewrite <- e; apply in_or_app; auto).
    apply in_seq in k. lia.
  - eapply IH; eassumption.
Qed.

(* The order property: behind an execution come later ones only. *)
Theorem nothing_earlier_executes_after : forall G m t t' s i j r r',
  run G (fresh m) (t ++ t') s -> In (Executed j r) t -> In (Executed i r') t' -> j < i.
Proof.
  intros G m t t' s i j r r' h hj hi. pose proof (executes_in_posting_order _ _ _ _ h) as e.
  rewrite executed_order_app in e.
  apply (split_seq_ordered _ _ _ _ i j e); apply in_flat_map; eexists; split; eauto; cbn; auto.
Qed.

Lemma executed_were_posted : forall G m t s, run G (fresh m) t s ->
  expected (server s) <= length (posted s).
Proof.
  intros G m t s h. induction h as [| t s e s' h IH st]; [cbn; lia |].
  destruct st; cbn [server posted] in *; try lia.
  - rewrite app_length. cbn. lia.
  - subst i. rewrite respond_expected in *.
    match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end. cbn [expected].
    assert (k : nth_error p (expected q) <> None) by congruence.
    apply nth_error_Some in k. lia.
  - match goal with h : respond q m0 _ _ = _, d : _ <> _ |- _ =>
      pose proof (respond_unexpected q m0 _ o d) as k; rewrite h in k; injection k as -> -> end.
    exact IH.
Qed.

(* An operation that leaves a word as it is, whatever memory holds. *)
Definition spares (o : op) (a : addr) : Prop := forall m, apply o m a = m a.

(* In memory: what a WRITE placed stays, if others leave the word alone and so does what was posted
   behind it. What was posted before it may write there as often as it likes. *)
Theorem placed_is_not_undone : forall (G : environment) m t s j a v,
  (forall g, G g -> forall x, act g x a = x a) ->
  run G (fresh m) t s ->
  nth_error (posted s) j = Some (WRITE a v) -> j < expected (server s) ->
  (forall k o, j < k -> nth_error (posted s) k = Some o -> spares o a) ->
  mem s a = v.
Proof.
  intros G m t s j a v alone h. induction h as [| t s e s' h IH st]; intros at_j lt later.
  - cbn in lt. lia.
  - pose proof (executed_were_posted _ _ _ _ h) as le.
    destruct st; cbn [server posted mem] in *; try (apply IH; assumption).
    + rewrite nth_error_app1 in at_j by lia. apply IH; [exact at_j | exact lt |].
      intros k o' jk at_k. apply (later k o' jk). rewrite nth_error_app1; [exact at_k |].
      apply nth_error_Some. congruence.
    + subst i. rewrite respond_expected in *.
      match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end.
      cbn [expected] in lt.
      destruct (Nat.eq_dec j (expected q)) as [-> | d].
      * replace o with (WRITE a v) by congruence. apply write_at.
      * rewrite (later (expected q) o ltac:(lia) ltac:(assumption)).
        apply IH; [exact at_j | lia | exact later].
    + match goal with h : respond q m0 _ _ = _, d : _ <> _ |- _ =>
        pose proof (respond_unexpected q m0 _ o d) as k; rewrite h in k; injection k as -> -> end.
      apply IH; assumption.
    + rewrite alone by assumption. apply IH; assumption.
Qed.

Lemma firstn_snoc : forall (A : Type) (l : list A) n x,
  nth_error l n = Some x -> firstn (S n) l = firstn n l ++ [x].
Proof.
  induction l as [| y l IH]; intros [| n] x h; try discriminate.
  - injection h as ->. reflexivity.
  - cbn in *. f_equal. apply IH, h.
Qed.

(* With nobody else about memory is what a prefix of the posted work requests leaves. *)
Theorem executes_a_prefix : forall m t s, run nobody (fresh m) t s ->
  mem s = queue (firstn (expected (server s)) (posted s)) m.
Proof.
  intros m t s h. induction h as [| t s e s' h IH st]; [reflexivity |].
  pose proof (executed_were_posted _ _ _ _ h) as le.
  destruct st; cbn [server posted mem] in *; try exact IH.
  - rewrite firstn_app. replace (expected q - length p) with 0 by lia. cbn.
    rewrite app_nil_r. exact IH.
  - subst i. rewrite respond_expected in *.
    match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end. cbn [expected].
    rewrite (firstn_snoc _ _ _ o) by assumption. rewrite queue_app, <- IH. reflexivity.
  - match goal with h : respond q m0 _ _ = _, d : _ <> _ |- _ =>
      pose proof (respond_unexpected q m0 _ o d) as k; rewrite h in k; injection k as -> -> end.
    exact IH.
  - match goal with h : nobody _ |- _ => destruct h end.
Qed.

(* ---- A chain of WRITEs, posted again as a whole ---------------------------------------------- *)

Definition writes (ps : packets) : list op := map (fun p => WRITE (fst p) (snd p)) ps.

Lemma queue_writes : forall ps m, queue (writes ps) m = place ps m.
Proof. induction ps as [| [a v] ps IH]; intro m; cbn; [reflexivity | apply IH]. Qed.

Lemma firstn_writes : forall k ps, firstn k (writes ps) = writes (firstn k ps).
Proof. intros k ps. apply firstn_map. Qed.

(* Wherever the first connection broke off: when the repost has executed to its end, memory is what
   the chain leaves, also where its WRITEs overlap. *)
Corollary chain_reposted_in_order : forall ps m t s t' s',
  run nobody (fresh m) t s -> posted s = writes ps ->
  run nobody (fresh (mem s)) t' s' -> posted s' = writes ps ->
  expected (server s') = length ps ->
  mem s' == place ps m.
Proof.
  intros ps m t s t' s' h p h' p' e.
  pose proof (executes_a_prefix _ _ _ h) as a. pose proof (executes_a_prefix _ _ _ h') as b.
  rewrite p, firstn_writes, queue_writes in a. rewrite p', firstn_writes, queue_writes, e in b.
  rewrite firstn_all in b. rewrite b, a. apply torn_write_repostable.
Qed.

(* On its way there the order is broken: the second WRITE is in memory, and the first one, posted
   before it, takes its place until the chain has come to its end again. If the repost breaks off
   there, that is how it stays. *)
Theorem reposted_chain_goes_back : forall m a u v, exists t s t1 s1 t2 s2,
  run nobody (fresh m) t s /\ posted s = writes [(a, u); (a, v)] /\ settled s /\
  In (TimedOut 0) t /\ In (TimedOut 1) t /\ mem s a = v /\
  run nobody (fresh (mem s)) t1 s1 /\ mem s1 a = u /\
  run nobody s1 t2 s2 /\ posted s2 = posted s /\ mem s2 a = v.
Proof.
  intros m a u v. set (w1 := WRITE a u). set (w2 := WRITE a v).
  assert (first : forall x, run nobody (fresh x) [Sent 0 w1; Sent 1 w2; Executed 0 Acked]
            (State (apply w1 x) [w1; w2] (Responder 1 [Acked]) [1] [(0, Acked)] [])).
  { intro x.
    eapply run_cons; [apply (step_sent nobody x [] new_responder [] [] [] w1) |].
    eapply run_cons; [apply (step_sent nobody x [w1] new_responder [0] [] [] w2) |].
    eapply run_cons;
      [apply (step_executed nobody x [w1; w2] new_responder [1] [] [] [] 0 w1 Acked); reflexivity |].
    constructor. }
  assert (second : forall x, run nobody
            (State (apply w1 x) [w1; w2] (Responder 1 [Acked]) [1] [(0, Acked)] [])
            [Executed 1 Acked]
            (State (apply w2 (apply w1 x)) [w1; w2] (Responder 2 [Acked; Acked]) []
              [(1, Acked); (0, Acked)] [])).
  { intro x. eapply run_cons; [| constructor].
    apply (step_executed nobody _ [w1; w2] (Responder 1 [Acked]) [] [] [(0, Acked)] [] 1 w2 Acked);
      reflexivity. }
  assert (lost : forall x, run nobody
            (State x [w1; w2] (Responder 2 [Acked; Acked]) [] [(1, Acked); (0, Acked)] [])
            [ReplyLost 1 Acked; ReplyLost 0 Acked; TimedOut 0; TimedOut 1]
            (State x [w1; w2] (Responder 2 [Acked; Acked]) [] [] [1; 0])).
  { intro x.
    eapply run_cons; [apply (step_reply_lost nobody x _ _ [] [] [(0, Acked)] [] 1 Acked) |].
    eapply run_cons; [apply (step_reply_lost nobody x _ _ [] [] [] [] 0 Acked) |].
    eapply run_cons; [apply (step_timed_out nobody x [w1; w2] _ [] [] [] 0); cbn; auto |].
    eapply run_cons; [apply (step_timed_out nobody x [w1; w2] _ [] [] [0] 1); cbn; [lia |] |].
    - intros [k | []]. discriminate.
    - constructor. }
  do 6 eexists.
  split; [eapply run_app; [apply (first m) |]; eapply run_app; [apply second | apply lost] |].
  split; [reflexivity |]. split; [split; reflexivity |].
  split; [cbn; auto 10 |]. split; [cbn; auto 10 |].
  split; [apply write_at |].
  split; [apply first |]. split; [apply write_at |].
  split; [apply second |]. split; [reflexivity | apply write_at].
Qed.

(* Without a fence it may stay so even when the repost completed: one late packet is enough. Where
   no two WRITEs of the chain meet it is not (Packets.late_packets_absorbed). *)
Theorem late_part_of_a_chain_undoes : forall m a u v, u <> v ->
  place [(a, u); (a, v)] m a = v /\
  place (firstn 1 [(a, u); (a, v)]) (place [(a, u); (a, v)] m) a <> v.
Proof. intros m a u v d. cbn. rewrite !write_at. split; [reflexivity | exact d]. Qed.
