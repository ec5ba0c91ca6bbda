(* SPDX-License-Identifier: BSD-3-Clause

   Executions: a requester, a network that loses, copies and delays packets, a responder, and
   everybody else who touches the memory. A trace is what happened, in order. Work requests have an
   identity, their PSN, so that two FADDs with equal arguments stay two. The sender sees three kinds
   of events; everything a transparent layer may know is the function view. *)

From Coq Require Import Arith List Bool Lia.
From PortcullisFailover Require Import Words Memory Operations Responder.
Import ListNotations.

(* A step of anybody else: another client, the receiver's CPU. It may look at all of memory. *)
Record outside := Outside {
  act : memory -> memory;
  act_respects : forall m m', m == m' -> act m == act m'
}.

(* An environment is the set of steps that others may take. *)
Definition environment := outside -> Prop.

(*@ 2.3 Inductive Event: proved corrected
    Work requests have an identity; packets are also copied and delayed. *)
Inductive event : Type :=
(* what the sender sees *)
| Sent (i : nat) (o : op)
| Completed (i : nat) (r : result)
| TimedOut (i : nat)
(* the network *)
| Lost (i : nat)
| Copied (i : nat)
| ReplyLost (i : nat) (r : result)
(* the responder *)
| Executed (i : nat) (r : result)
| Repeated (i : nat) (r : result)     (* a duplicate, answered without execution *)
(* everybody else *)
| Consumed (a : addr) (v : word)      (* the receiver's CPU reads v at a *)
| Elsewhere (g : outside).

Definition trace := list event.

(*@ 2.3 Inductive SenderObs: proved corrected
    With the identity of the work request. *)
Inductive obs : Type :=
| ObsSent (i : nat) (o : op)
| ObsCompleted (i : nat) (r : result)
| ObsTimedOut (i : nat).

Definition observed (e : event) : list obs :=
  match e with
  | Sent i o => [ObsSent i o]
  | Completed i r => [ObsCompleted i r]
  | TimedOut i => [ObsTimedOut i]
  | _ => []
  end.

Definition view (t : trace) : list obs := flat_map observed t.

Lemma view_app : forall t t', view (t ++ t') = view t ++ view t'.
Proof. apply flat_map_app. Qed.

Record state := State {
  mem : memory;
  posted : list op;                  (* the WR with PSN i stands at place i *)
  server : responder;
  requests : list nat;               (* packets on their way there, by PSN *)
  replies : list (nat * result);     (* packets on their way back *)
  closed : list nat                  (* what the sender has seen complete or time out *)
}.

(* A new connection over a memory. *)
Definition fresh (m : memory) : state := State m [] new_responder [] [] [].

(* Nothing of this connection is in the network any more. *)
Definition settled (s : state) : Prop := requests s = [] /\ replies s = [].

Inductive step (G : environment) : state -> event -> state -> Prop :=
| step_sent : forall m p q rq rp c o,
    step G (State m p q rq rp c) (Sent (length p) o)
           (State m (p ++ [o]) q (length p :: rq) rp c)
| step_completed : forall m p q rq rp c i r, In (i, r) rp -> ~ In i c ->
    step G (State m p q rq rp c) (Completed i r) (State m p q rq rp (i :: c))
| step_timed_out : forall m p q rq rp c i, i < length p -> ~ In i c ->
    step G (State m p q rq rp c) (TimedOut i) (State m p q rq rp (i :: c))
| step_lost : forall m p q before after rp c i,
    step G (State m p q (before ++ i :: after) rp c) (Lost i) (State m p q (before ++ after) rp c)
| step_copied : forall m p q rq rp c i, In i rq ->
    step G (State m p q rq rp c) (Copied i) (State m p q (i :: rq) rp c)
| step_reply_lost : forall m p q rq before after c i r,
    step G (State m p q rq (before ++ (i, r) :: after) c) (ReplyLost i r)
           (State m p q rq (before ++ after) c)
| step_executed : forall m p q before after rp c i o r q' m',
    nth_error p i = Some o -> i = expected q -> respond q m i o = (q', m', Reply r) ->
    step G (State m p q (before ++ i :: after) rp c) (Executed i r)
           (State m' p q' (before ++ after) ((i, r) :: rp) c)
| step_repeated : forall m p q before after rp c i o r q' m',
    nth_error p i = Some o -> i <> expected q -> respond q m i o = (q', m', Reply r) ->
    step G (State m p q (before ++ i :: after) rp c) (Repeated i r)
           (State m' p q' (before ++ after) ((i, r) :: rp) c)
| step_consumed : forall m p q rq rp c a,
    step G (State m p q rq rp c) (Consumed a (m a)) (State m p q rq rp c)
| step_elsewhere : forall m p q rq rp c g, G g ->
    step G (State m p q rq rp c) (Elsewhere g) (State (act g m) p q rq rp c).

(*@ 2.3 Definition Trace: proved corrected
    Printed as any list of events, also one that executes before it sends; here what a requester, a
    network and a responder can do. *)
Inductive run (G : environment) (s : state) : trace -> state -> Prop :=
| run_nil : run G s [] s
| run_snoc : forall t s' e s'', run G s t s' -> step G s' e s'' -> run G s (t ++ [e]) s''.

Lemma run_app : forall G s t s' t' s'', run G s t s' -> run G s' t' s'' -> run G s (t ++ t') s''.
Proof.
  intros G s t s' t' s'' h k. induction k as [| t' u e v k IH step_].
  - rewrite app_nil_r. exact h.
  - rewrite app_assoc. eapply run_snoc; eassumption.
Qed.

Lemma run_cons : forall G s e s' t s'', step G s e s' -> run G s' t s'' -> run G s (e :: t) s''.
Proof.
  intros G s e s' t s'' h k. change (e :: t) with ([e] ++ t).
  eapply run_app; [| exact k]. change [e] with ([] ++ [e]).
  eapply run_snoc; [constructor | exact h].
Qed.

(* ---- At most once: what the transport gives, and all that it gives --------------------------- *)

Definition is_execution (i : nat) (e : event) : bool :=
  match e with
  | Executed j _ => Nat.eqb i j
  | _ => false
  end.

(*@ 2.4 Fixpoint execution_count: proved corrected
    Counts by identity, not by equal arguments. *)
Definition executions (i : nat) (t : trace) : nat := length (filter (is_execution i) t).

Lemma executions_app : forall i t t', executions i (t ++ t') = executions i t + executions i t'.
Proof. intros. unfold executions. rewrite filter_app, app_length. reflexivity. Qed.

(* The ePSN counts what was executed, each work request below it exactly once. *)
Lemma executions_by_psn : forall G m t s, run G (fresh m) t s ->
  forall i, executions i t = if Nat.ltb i (expected (server s)) then 1 else 0.
Proof.
  intros G m t s h. induction h as [| t s e s' h IH st]; intro i; [reflexivity |].
  rewrite executions_app, (IH i). clear IH.
  destruct st; cbn [server executions filter is_execution length];
    unfold executions; cbn [filter is_execution length]; try apply Nat.add_0_r.
  - subst i0. rewrite respond_expected in *.
    match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end. cbn [expected].
    destruct (Nat.eqb_spec i (expected q)) as [-> | d]; cbn [length].
    + rewrite Nat.ltb_irrefl. destruct (Nat.ltb_spec (expected q) (S (expected q))); lia.
    + destruct (Nat.ltb_spec i (expected q)), (Nat.ltb_spec i (S (expected q))); lia.
  - match goal with h : respond q m0 _ _ = _, d : _ <> _ |- _ =>
      pose proof (respond_unexpected q m0 _ o d) as k; rewrite h in k; injection k as -> -> end.
    apply Nat.add_0_r.
Qed.

(*@ 2.4 Definition AtMostOnce: proved corrected
    As printed it condemns a run without any fault
    (SeedFoundations.fault_free_run_violates_printed_AtMostOnce); by identity the transport
    guarantees it. *)
Theorem transport_at_most_once : forall G m t s i, run G (fresh m) t s -> executions i t <= 1.
Proof.
  intros G m t s i h. rewrite (executions_by_psn _ _ _ _ h).
  destruct (Nat.ltb i (expected (server s))); lia.
Qed.

(* ---- A fence: nothing of this connection is on its way any more -------------------------------- *)

Definition is_sent (e : event) : bool :=
  match e with
  | Sent _ _ => true
  | _ => false
  end.

(* What was lost, delivered or dropped by a fence never executes later: from a state without request
   packets no execution happens until the sender posts again. *)
Theorem fenced_is_silent : forall G s t s', run G s t s' -> requests s = [] ->
  existsb is_sent t = false -> requests s' = [] /\ forall i, executions i t = 0.
Proof.
  intros G s t s' h r. induction h as [| t u e v h IH st]; intro k.
  - split; [exact r | reflexivity].
  - rewrite existsb_app in k. apply orb_false_iff in k. destruct k as [k k'].
    destruct (IH k) as [q z]. clear IH.
    assert (none : forall (p q : list nat) i, p ++ i :: q <> []).
    { intros p q0 i c. apply app_eq_nil in c. destruct c. discriminate. }
    inversion st; subst; cbn [requests] in *; cbn in k'; try discriminate;
      try (exfalso; eapply none; eassumption);
      (split; [reflexivity || assumption |]; intro j; rewrite executions_app, z; reflexivity) ||
      (subst; contradiction).
Qed.
