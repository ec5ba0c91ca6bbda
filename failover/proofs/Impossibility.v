(* SPDX-License-Identifier: BSD-3-Clause

   Whatever a transparent layer decides after a timeout, there is an execution in which its decision
   makes the operation happen twice or never. No hypothesis on the layer, the operation or memory;
   the executions are reachable and nothing of them is left in the network. Whether that matters
   depends on the operation: Solvability.T1. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder Traces.
Import ListNotations.

(* After a timeout the layer posts the operation again, on a connection of its own, or tells the
   application a result without doing so. It is a function of what the sender saw. *)
Inductive choice : Type :=
| Repost
| Conclude (r : result).

(*@ 2.4 Record TransparentOverlay: proved corrected
    The field decision_deterministic holds of every function
    (SeedFoundations.decision_deterministic_of_every_function): an overlay is a function. *)
Definition overlay := list obs -> nat -> choice.

(* What follows from a choice, and the result that the application gets. A repost runs to its
   completion over a new connection: the kindest network that a layer can ask for. *)
Inductive recovery (G : environment) (o : op)
  : choice -> state -> trace -> state -> result -> Prop :=
| reposted : forall s t s' r,
    run G (fresh (mem s)) t s' -> view t = [ObsSent 0 o; ObsCompleted 0 r] ->
    recovery G o Repost s t s' r
| concluded : forall s r, recovery G o (Conclude r) s [] s r.

(* The request is lost. *)
Definition lost_trace (o : op) : trace := [Sent 0 o; Lost 0; TimedOut 0].

(* It is executed, others act, and the acknowledgement is lost. *)
Definition executed_trace (o : op) (r : result) (gs : list outside) : trace :=
  Sent 0 o :: Executed 0 r :: map Elsewhere gs ++ [ReplyLost 0 r; TimedOut 0].

(* The fault-free run of a repost. *)
Definition repost_trace (o : op) (r : result) : trace := [Sent 0 o; Executed 0 r; Completed 0 r].

Fixpoint acts (gs : list outside) (m : memory) : memory :=
  match gs with
  | [] => m
  | g :: rest => acts rest (act g m)
  end.

Lemma run_acts : forall (G : environment) gs m p q rq rp c, Forall G gs ->
  run G (State m p q rq rp c) (map Elsewhere gs) (State (acts gs m) p q rq rp c).
Proof.
  intros G gs. induction gs as [| g gs IH]; intros m p q rq rp c h; cbn.
  - constructor.
  - inversion h; subst. eapply run_cons; [constructor; assumption | apply IH; assumption].
Qed.

Lemma lost_trace_runs : forall G m o,
  run G (fresh m) (lost_trace o) (State m [o] new_responder [] [] [0]).
Proof.
  intros G m o.
  eapply run_cons; [apply (step_sent G m [] new_responder [] [] [] o) |].
  eapply run_cons; [apply (step_lost G m [o] new_responder [] [] [] [] 0) |].
  eapply run_cons; [apply (step_timed_out G m [o] new_responder [] [] [] 0); cbn; auto |].
  constructor.
Qed.

Lemma executed_trace_runs : forall G m o gs, Forall G gs ->
  run G (fresh m) (executed_trace o (answer o m) gs)
      (State (acts gs (apply o m)) [o] (Responder 1 [answer o m]) [] [] [0]).
Proof.
  intros G m o gs h. unfold executed_trace.
  eapply run_cons; [apply (step_sent G m [] new_responder [] [] [] o) |].
  eapply run_cons;
    [apply (step_executed G m [o] new_responder [] [] [] [] 0 o (answer o m)); reflexivity |].
  eapply run_app; [apply run_acts, h |].
  eapply run_cons; [apply (step_reply_lost G _ [o] _ [] [] [] [] 0 (answer o m)) |].
  eapply run_cons; [apply (step_timed_out G _ [o] _ [] [] [] 0); cbn; auto |].
  constructor.
Qed.

Lemma repost_trace_runs : forall G m o,
  run G (fresh m) (repost_trace o (answer o m))
      (State (apply o m) [o] (Responder 1 [answer o m]) [] [(0, answer o m)] [0]).
Proof.
  intros G m o.
  eapply run_cons; [apply (step_sent G m [] new_responder [] [] [] o) |].
  eapply run_cons;
    [apply (step_executed G m [o] new_responder [] [] [] [] 0 o (answer o m)); reflexivity |].
  eapply run_cons; [apply (step_completed G _ [o] _ [] _ [] 0 (answer o m)); cbn; auto |].
  constructor.
Qed.

Lemma view_elsewhere : forall gs, view (map Elsewhere gs) = [].
Proof. induction gs; [reflexivity | assumption]. Qed.

Lemma executions_elsewhere : forall i gs, executions i (map Elsewhere gs) = 0.
Proof. intros i gs. induction gs; [reflexivity | assumption]. Qed.

(* What the failover document calls indistinguishable, stated as what it is: two views are equal. *)
Theorem views_equal : forall o r gs, view (executed_trace o r gs) = view (lost_trace o).
Proof.
  intros o r gs. unfold executed_trace. cbn. rewrite view_app, view_elsewhere. reflexivity.
Qed.

Lemma executed_trace_executes : forall o r gs, executions 0 (executed_trace o r gs) = 1.
Proof.
  intros o r gs. unfold executed_trace.
  change (Sent 0 o :: Executed 0 r :: map Elsewhere gs ++ [ReplyLost 0 r; TimedOut 0])
    with ([Sent 0 o; Executed 0 r] ++ map Elsewhere gs ++ [ReplyLost 0 r; TimedOut 0]).
  rewrite !executions_app, executions_elsewhere. reflexivity.
Qed.

(* By the count of executions alone, and of any operation: it says nothing of harm, for a READ that
   happens twice harms nobody. Solvability.T1 is about harm. *)
Theorem executed_twice_or_never : forall (G : environment) (D : overlay) (m : memory) (o : op),
  exists t s t' s' r,
    run G (fresh m) t s /\ settled s /\ In (TimedOut 0) t /\
    recovery G o (D (view t) 0) s t' s' r /\
    executions 0 t + executions 0 t' <> 1.
Proof.
  intros G D m o. destruct (D (view (lost_trace o)) 0) as [| r] eqn:chosen.
  - exists (executed_trace o (answer o m) []).
    exists (State (apply o m) [o] (Responder 1 [answer o m]) [] [] [0]).
    exists (repost_trace o (answer o (apply o m))). do 2 eexists.
    split; [apply (executed_trace_runs G m o []); constructor |].
    split; [split; reflexivity |].
    split; [cbn; auto 10 |].
    split; [rewrite views_equal, chosen; econstructor; [apply repost_trace_runs | reflexivity] |].
    cbn. discriminate.
  - exists (lost_trace o), (State m [o] new_responder [] [] [0]), [].
    exists (State m [o] new_responder [] [] [0]), r.
    split; [apply lost_trace_runs |].
    split; [split; reflexivity |].
    split; [cbn; auto |].
    split; [rewrite chosen; constructor |].
    cbn. discriminate.
Qed.
