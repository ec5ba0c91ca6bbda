(* SPDX-License-Identifier: BSD-3-Clause

   SEND and WRITE_WITH_IMM: a message consumes a receive that the receiver posted and leaves a
   completion in its queue, in order. The queue belongs to the receiver and outlives connections; a
   message that is posted again on another connection consumes a second receive. Nothing in the
   queue says whether two equal completions are one message or two, unless the message says it. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder.
Import ListNotations.

Inductive message : Type :=
| SEND (w : word)
| WRITE_WITH_IMM (a : addr) (v w : word).

(* What the completion of the receive holds: the data of a SEND, or the immediate. *)
Definition content (x : message) : word :=
  match x with
  | SEND w | WRITE_WITH_IMM _ _ w => w
  end.

Definition written (x : message) (m : memory) : memory :=
  match x with
  | SEND _ => m
  | WRITE_WITH_IMM a v _ => write m a v
  end.

(* The receiver: memory, the completions of its receives, oldest first, and how many more receives
   it has posted. *)
Record receiver := Receiver {
  memory_of : memory;
  completions : list word;
  receives : nat
}.

(* One message arrives, in its turn. Without a receive it is turned away (RNR) and changes
   nothing. *)
Definition receive (x : message) (r : receiver) : option receiver :=
  match receives r with
  | O => None
  | S rest => Some (Receiver (written x (memory_of r)) (completions r ++ [content x]) rest)
  end.

(* ---- A connection ---------------------------------------------------------------------------- *)

Inductive message_event : Type :=
| MSent (i : nat) (x : message)
| MCompleted (i : nat)
| MTimedOut (i : nat)
| MLost (i : nat)
| MCopied (i : nat)
| MAckLost (i : nat)
| MDelivered (i : nat)
| MRepeated (i : nat)          (* a duplicate: acknowledged, and no receive consumed *)
| MElsewhere (r : receiver).   (* the receiver does what it likes with memory, queue and receives *)

Record channel := Channel {
  at_receiver : receiver;
  queued : list message;       (* the message with PSN i stands at place i *)
  turn : nat;                  (* ePSN *)
  packets_out : list nat;
  acks_out : list nat;
  ended : list nat
}.

Definition opened (r : receiver) : channel := Channel r [] 0 [] [] [].

Inductive message_step : channel -> message_event -> channel -> Prop :=
| m_sent : forall r p q rq rp c x,
    message_step (Channel r p q rq rp c) (MSent (length p) x)
                 (Channel r (p ++ [x]) q (length p :: rq) rp c)
| m_completed : forall r p q rq rp c i, In i rp -> ~ In i c ->
    message_step (Channel r p q rq rp c) (MCompleted i) (Channel r p q rq rp (i :: c))
| m_timed_out : forall r p q rq rp c i, i < length p -> ~ In i c ->
    message_step (Channel r p q rq rp c) (MTimedOut i) (Channel r p q rq rp (i :: c))
| m_lost : forall r p q before after rp c i,
    message_step (Channel r p q (before ++ i :: after) rp c) (MLost i)
                 (Channel r p q (before ++ after) rp c)
| m_copied : forall r p q rq rp c i, In i rq ->
    message_step (Channel r p q rq rp c) (MCopied i) (Channel r p q (i :: rq) rp c)
| m_ack_lost : forall r p q rq before after c i,
    message_step (Channel r p q rq (before ++ i :: after) c) (MAckLost i)
                 (Channel r p q rq (before ++ after) c)
| m_delivered : forall r r' p q before after rp c x,
    nth_error p q = Some x -> receive x r = Some r' ->
    message_step (Channel r p q (before ++ q :: after) rp c) (MDelivered q)
                 (Channel r' p (S q) (before ++ after) (q :: rp) c)
| m_repeated : forall r p q before after rp c i, i < q ->
    message_step (Channel r p q (before ++ i :: after) rp c) (MRepeated i)
                 (Channel r p q (before ++ after) (i :: rp) c)
| m_elsewhere : forall r r' p q rq rp c,
    message_step (Channel r p q rq rp c) (MElsewhere r') (Channel r' p q rq rp c).

Inductive message_run (s : channel) : list message_event -> channel -> Prop :=
| m_nil : message_run s [] s
| m_snoc : forall t s' e s'', message_run s t s' -> message_step s' e s'' ->
    message_run s (t ++ [e]) s''.

Lemma m_cons : forall s e s' t s'', message_step s e s' -> message_run s' t s'' ->
  message_run s (e :: t) s''.
Proof.
  intros s e s' t s'' h k. induction k as [| t u e' v k IH st].
  - change [e] with ([] ++ [e]). eapply m_snoc; [constructor | exact h].
  - change (e :: t ++ [e']) with ((e :: t) ++ [e']). eapply m_snoc; eassumption.
Qed.

Definition is_elsewhere (e : message_event) : bool :=
  match e with MElsewhere _ => true | _ => false end.

(* One connection delivers each message once at most: while the receiver itself is idle, its queue
   grows by the contents of a prefix of what was posted. *)
Theorem messages_in_order_once : forall r t s, message_run (opened r) t s ->
  existsb is_elsewhere t = false ->
  turn s <= length (queued s) /\
  completions (at_receiver s) = completions r ++ map content (firstn (turn s) (queued s)) /\
  receives (at_receiver s) + turn s = receives r.
Proof.
  intros r t s h. induction h as [| t s e s' h IH st]; intro idle.
  - cbn. rewrite app_nil_r. repeat split; lia.
  - rewrite existsb_app in idle. apply orb_false_iff in idle. destruct idle as [i1 i2].
    destruct (IH i1) as (a & b & c). clear IH.
    destruct st; cbn [turn queued at_receiver] in *; try discriminate; try (repeat split; assumption).
    + rewrite app_length. split; [lia |]. split; [| exact c]. rewrite firstn_app.
      replace (q - length p) with 0 by lia. cbn. rewrite app_nil_r. exact b.
    + assert (lt : q < length p) by (apply nth_error_Some; congruence).
      unfold receive in *. destruct (receives r0) as [| rest] eqn:some; [discriminate |].
      match goal with h : Some _ = Some _ |- _ => injection h as <- end.
      cbn [completions receives]. split; [lia |]. split; [| lia].
      assert (next : firstn (S q) p = firstn q p ++ [x]).
      { clear - H. revert q H. induction p as [| y p IH]; intros [| q] h; try discriminate.
        - injection h as ->. reflexivity.
        - cbn in *. f_equal. apply IH, h. }
      rewrite b, next, map_app, app_assoc. reflexivity.
Qed.

(* ---- What a layer can see, and what it can choose -------------------------------------------- *)

Inductive message_obs : Type :=
| SawSent (i : nat) (x : message)
| SawCompleted (i : nat)
| SawTimedOut (i : nat).

Definition saw (e : message_event) : list message_obs :=
  match e with
  | MSent i x => [SawSent i x]
  | MCompleted i => [SawCompleted i]
  | MTimedOut i => [SawTimedOut i]
  | _ => []
  end.

Definition message_view (t : list message_event) : list message_obs := flat_map saw t.

(* True: post it again, on a connection of its own; false: do not. *)
Definition message_layer := list message_obs -> nat -> bool.

(* What becomes of the receiver. A repost runs to its completion. *)
Inductive message_recovery (x : message) : bool -> receiver -> receiver -> Prop :=
| message_reposted : forall r t s, message_run (opened r) t s ->
    message_view t = [SawSent 0 x; SawCompleted 0] ->
    message_recovery x true r (at_receiver s)
| message_left : forall r, message_recovery x false r r.

(* Nothing is on its way any more: as after a fence, or a perfect timer. *)
Definition quiet (s : channel) : Prop := packets_out s = [] /\ acks_out s = [].

Definition lost_message (x : message) : list message_event := [MSent 0 x; MLost 0; MTimedOut 0].
Definition delivered_message (x : message) : list message_event :=
  [MSent 0 x; MDelivered 0; MAckLost 0; MTimedOut 0].
Definition repeated_message (x : message) : list message_event :=
  [MSent 0 x; MDelivered 0; MCompleted 0].

Lemma lost_message_runs : forall r x,
  message_run (opened r) (lost_message x) (Channel r [x] 0 [] [] [0]).
Proof.
  intros r x.
  eapply m_cons; [apply (m_sent r [] 0 [] [] [] x) |].
  eapply m_cons; [apply (m_lost r [x] 0 [] [] [] [] 0) |].
  eapply m_cons; [apply (m_timed_out r [x] 0 [] [] [] 0); cbn; auto |]. constructor.
Qed.

Lemma delivered_message_runs : forall r r' x, receive x r = Some r' ->
  message_run (opened r) (delivered_message x) (Channel r' [x] 1 [] [] [0]).
Proof.
  intros r r' x h.
  eapply m_cons; [apply (m_sent r [] 0 [] [] [] x) |].
  eapply m_cons; [apply (m_delivered r r' [x] 0 [] [] [] [] x); [reflexivity | exact h] |].
  eapply m_cons; [apply (m_ack_lost r' [x] 1 [] [] [] [] 0) |].
  eapply m_cons; [apply (m_timed_out r' [x] 1 [] [] [] 0); cbn; auto |]. constructor.
Qed.

Lemma repeated_message_runs : forall r r' x, receive x r = Some r' ->
  message_run (opened r) (repeated_message x) (Channel r' [x] 1 [] [0] [0]).
Proof.
  intros r r' x h.
  eapply m_cons; [apply (m_sent r [] 0 [] [] [] x) |].
  eapply m_cons; [apply (m_delivered r r' [x] 0 [] [] [] [] x); [reflexivity | exact h] |].
  eapply m_cons; [apply (m_completed r' [x] 1 [] [0] [] 0); cbn; auto |]. constructor.
Qed.

(* Whatever a layer decides from what it sees, there is a run after which the receiver's queue is
   not that of one message: nothing arrived, or two receives are gone. Nothing is on its way, so no
   fence helps; and the receiver did nothing. *)
Theorem notification_never : forall (D : message_layer) x r, 2 <= receives r ->
  exists t s r', message_run (opened r) t s /\ quiet s /\ In (MTimedOut 0) t /\
    existsb is_elsewhere t = false /\
    message_recovery x (D (message_view t) 0) (at_receiver s) r' /\
    completions r' <> completions r ++ [content x].
Proof.
  intros D x [m l k] two. cbn in two. destruct k as [| [| k]]; try lia.
  destruct (D (message_view (lost_message x)) 0) eqn:chosen.
  - exists (delivered_message x). do 2 eexists.
    split; [apply delivered_message_runs; reflexivity |].
    split; [split; reflexivity |]. split; [cbn; auto 10 |]. split; [reflexivity |].
    split.
    + change (message_view (delivered_message x)) with (message_view (lost_message x)).
      rewrite chosen. cbn [at_receiver].
      eapply message_reposted; [apply repeated_message_runs; reflexivity | reflexivity].
    + cbn. intro e. apply (f_equal (@length word)) in e. rewrite !app_length in e. cbn in e. lia.
  - exists (lost_message x). do 2 eexists.
    split; [apply lost_message_runs |].
    split; [split; reflexivity |]. split; [cbn; auto |]. split; [reflexivity |].
    split; [rewrite chosen; constructor |].
    cbn. intro e. apply (f_equal (@length word)) in e. rewrite app_length in e. cbn in e. lia.
Qed.

(* ---- What the receiver can do about it ------------------------------------------------------- *)

(* One message that was delivered and posted again, and two equal messages, leave the same receiver:
   no function of what it has tells them apart. *)
Theorem receiver_cannot_tell : forall (count : receiver -> nat) r x, 2 <= receives r ->
  exists t1 s1 t2 s2 t s,
    message_run (opened r) t1 s1 /\ queued s1 = [x] /\ quiet s1 /\
    message_run (opened (at_receiver s1)) t2 s2 /\ queued s2 = [x] /\ turn s2 = 1 /\
    message_run (opened r) t s /\ queued s = [x; x] /\ turn s = 2 /\
    ~ (count (at_receiver s2) = 1 /\ count (at_receiver s) = 2).
Proof.
  intros count [m l k] x two. cbn in two. destruct k as [| [| k]]; try lia.
  set (r := Receiver m l (S (S k))).
  set (r1 := Receiver (written x m) (l ++ [content x]) (S k)).
  set (r2 := Receiver (written x (written x m)) ((l ++ [content x]) ++ [content x]) k).
  exists (delivered_message x), (Channel r1 [x] 1 [] [] [0]).
  exists (repeated_message x), (Channel r2 [x] 1 [] [0] [0]).
  exists [MSent 0 x; MSent 1 x; MDelivered 0; MDelivered 1], (Channel r2 [x; x] 2 [] [1; 0] []).
  split; [apply delivered_message_runs; reflexivity |].
  split; [reflexivity |]. split; [split; reflexivity |].
  split; [apply repeated_message_runs; reflexivity |].
  split; [reflexivity |]. split; [reflexivity |].
  split.
  { eapply m_cons; [apply (m_sent r [] 0 [] [] [] x) |].
    eapply m_cons; [apply (m_sent r [x] 0 [0] [] [] x) |].
    eapply m_cons; [apply (m_delivered r r1 [x; x] 0 [1] [] [] [] x); reflexivity |].
    eapply m_cons; [apply (m_delivered r1 r2 [x; x] 1 [] [] [0] [] x); reflexivity |].
    constructor. }
  split; [reflexivity |]. split; [reflexivity |]. cbn. intros [a b]. congruence.
Qed.

(* With a number in each message it can: what was taken is a list of numbers, and one that is
   there already is dropped. *)
Definition take (seen : list word) (w : word) : list word :=
  if in_dec word_eq_dec w seen then seen else seen ++ [w].

Definition taken (l : list word) : list word := fold_left take l [].

Lemma taken_from : forall l seen, NoDup seen ->
  NoDup (fold_left take l seen) /\
  (forall w, In w (fold_left take l seen) <-> In w seen \/ In w l).
Proof.
  induction l as [| x l IH]; intros seen d; cbn.
  - split; [exact d | intro w; tauto].
  - assert (d' : NoDup (take seen x)).
    { unfold take. destruct (in_dec word_eq_dec x seen) as [i | i]; [exact d |].
      apply NoDup_rev in d. rewrite <- (rev_involutive (seen ++ [x])), rev_app_distr.
      apply NoDup_rev. cbn. constructor; [| exact d]. intro k. apply i, in_rev, k. }
    destruct (IH _ d') as [a b]. split; [exact a |]. intro w. rewrite b. unfold take.
    destruct (in_dec word_eq_dec x seen) as [i | i]; rewrite ?in_app_iff; cbn; [| tauto].
    split; [tauto |]. intros [k | [-> | k]]; auto.
Qed.

(* However often each message was delivered: each number is taken once, and none that was not
   delivered. *)
Theorem numbered_messages_once : forall l, NoDup (taken l) /\ forall w, In w (taken l) <-> In w l.
Proof.
  intro l. destruct (taken_from l [] (NoDup_nil word)) as [a b]. split; [exact a |].
  intro w. unfold taken. rewrite b. cbn. tauto.
Qed.
