(* SPDX-License-Identifier: BSD-3-Clause

   Section 3 of the failover document as printed. Its assumptions hold outright, its theorem follows
   from none of them and would condemn a READ, and the two traces it calls indistinguishable are
   told apart by counting. Solvability.T1 is what it should have said. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import SeedFoundations.
Import ListNotations.

(* Used but not printed: the data, the flag that announces it, the two WRITEs. *)
Definition A_data : Addr := 0.
Definition A_flag : Addr := 1.
Definition W_D (v : Val) : Op := OpWrite A_data v.
Definition W_F : Op := OpWrite A_flag 1.

(* ---- 3.1 Assumptions, safety, liveness ------------------------------------------------------- *)

Definition SilentReceiver : Prop :=
  forall t : Trace, forall obs, In obs (sender_view t) ->
  match obs with
  | ObsSent _ | ObsCompleted _ _ | ObsTimeout _ => True
  end.

(*@ 3.1 Definition SilentReceiver: proved as stated
    It holds of every trace, so as a hypothesis it assumes nothing. *)
Theorem SilentReceiver_holds : SilentReceiver.
Proof. intros t [op | op r | op] _; exact I. Qed.

Definition MemoryReuseAllowed : Prop :=
  forall V1 V_new, exists t, In (EvAppConsume A_data V1) t /\ In (EvAppReuse A_data V_new) t.

(*@ 3.1 Definition MemoryReuseAllowed: proved as stated
    It holds outright, for a trace is any list of events; as a hypothesis it assumes nothing. *)
Theorem MemoryReuseAllowed_holds : MemoryReuseAllowed.
Proof. intros v w. exists [EvAppConsume A_data v; EvAppReuse A_data w]. cbn. auto. Qed.

Definition NoExactlyOnce : Prop :=
  exists t op, In (EvSend op) t /\ (execution_count t op = 0 \/ execution_count t op > 1).

(*@ 3.1 Definition NoExactlyOnce: proved as stated
    It holds outright: one packet may be lost; as a hypothesis it assumes nothing. *)
Theorem NoExactlyOnce_holds : NoExactlyOnce.
Proof. exists [EvSend W_F], W_F. cbn. auto. Qed.

Definition ProvidesSafety (overlay : TransparentOverlay) : Prop :=
  forall t op V_new,
  In (EvAppReuse A_data V_new) t ->
  op_executed t op ->
  overlay.(decide_retransmit) (sender_view t) op = false.

Definition ProvidesLiveness (overlay : TransparentOverlay) : Prop :=
  forall t op,
  In (EvSend op) t ->
  ~ op_executed t op ->
  sender_saw_timeout t op ->
  overlay.(decide_retransmit) (sender_view t) op = true.

(* Every operation is condemned alike: the traces need not be executions of anything. *)
Lemma condemned : forall overlay op,
  ~ ((forall t V_new, In (EvAppReuse A_data V_new) t -> op_executed t op ->
        overlay.(decide_retransmit) (sender_view t) op = false) /\
     (forall t, In (EvSend op) t -> ~ op_executed t op -> sender_saw_timeout t op ->
        overlay.(decide_retransmit) (sender_view t) op = true)).
Proof.
  intros overlay op [safe live].
  assert (s : overlay.(decide_retransmit) [ObsSent op; ObsTimeout op] op = false).
  { apply (safe [EvSend op; EvExecute op ResWriteAck; EvTimeout op; EvAppReuse A_data 0] 0).
    - cbn. auto 6.
    - exists ResWriteAck. cbn. auto. }
  assert (l : overlay.(decide_retransmit) [ObsSent op; ObsTimeout op] op = true).
  { apply (live [EvSend op; EvTimeout op]).
    - cbn. auto.
    - intros [r [h | [h | []]]]; discriminate.
    - cbn. auto. }
  congruence.
Qed.

(* The printed theorem, for whatever the undefined predicate Transparent may be. *)
Theorem impossibility_as_printed : forall (Transparent : TransparentOverlay -> Prop),
  forall overlay : TransparentOverlay,
  Transparent overlay -> SilentReceiver -> MemoryReuseAllowed -> NoExactlyOnce ->
  ~ (ProvidesSafety overlay /\ ProvidesLiveness overlay).
Proof.
  intros Transparent overlay _ _ _ _ [safe live]. apply (condemned overlay W_F). split.
  - intros t v. apply safe.
  - intro t. apply live.
Qed.

(* The same, with no hypothesis, about a READ, which Verdicts.read_solvable proves harmless. *)
Theorem printed_theorem_condemns_a_read : forall overlay,
  ~ ((forall t V_new, In (EvAppReuse A_data V_new) t -> op_executed t (OpRead A_data) ->
        overlay.(decide_retransmit) (sender_view t) (OpRead A_data) = false) /\
     (forall t, In (EvSend (OpRead A_data)) t -> ~ op_executed t (OpRead A_data) ->
        sender_saw_timeout t (OpRead A_data) ->
        overlay.(decide_retransmit) (sender_view t) (OpRead A_data) = true)).
Proof. intro overlay. apply condemned. Qed.

(* ---- 3.2 The two traces ---------------------------------------------------------------------- *)

(*@ 3.2 Definition T1_packet_loss: proved as stated *)
Definition T1_packet_loss (V1 : Val) : Trace :=
  [ EvSend (W_D V1);
    EvPacketLost (W_D V1);
    EvTimeout (W_D V1) ].

(*@ 3.2 Definition T2_ack_loss: proved as stated
    W_F is posted, and never completes or times out. *)
Definition T2_ack_loss (V1 V_new : Val) : Trace :=
  [ EvSend (W_D V1);
    EvReceive (W_D V1);
    EvExecute (W_D V1) ResWriteAck;
    EvSend W_F; EvReceive W_F; EvExecute W_F ResWriteAck;
    EvAppConsume A_data V1;
    EvAppReuse A_data V_new;
    EvAckLost (W_D V1);
    EvTimeout (W_D V1) ].

(* What the tables call the memory state: executions and reuse, in order. *)
Fixpoint memory_after (m : Memory) (t : Trace) : Memory :=
  match t with
  | [] => m
  | EvExecute op _ :: rest => memory_after (fst (exec_op m op)) rest
  | EvAppReuse a v :: rest => memory_after (mem_write m a v) rest
  | _ :: rest => memory_after m rest
  end.

(*@ 3.2 table T1_packet_loss: proved as stated *)
Theorem table_of_T1 : forall V1,
  sender_view (T1_packet_loss V1) = [ObsSent (W_D V1); ObsTimeout (W_D V1)] /\
  memory_after init_memory (T1_packet_loss V1) A_data = 0.
Proof. intro V1. split; reflexivity. Qed.

(*@ 3.2 table T2_ack_loss: proved as stated
    Its sender view has three entries and that of T1_packet_loss has two: see the next row. *)
Theorem table_of_T2 : forall V1 V_new,
  sender_view (T2_ack_loss V1 V_new) = [ObsSent (W_D V1); ObsSent W_F; ObsTimeout (W_D V1)] /\
  memory_after init_memory (T2_ack_loss V1 V_new) A_data = V_new.
Proof. intros V1 V_new. split; reflexivity. Qed.

(*@ 3.2 Lemma indistinguishable_wrt_WD_execution: proved as stated
    The four conjuncts hold. What the name promises is refuted: the two views differ
    (SeedTheorem1.printed_views_differ), and an overlay that counts decides both traces correctly
    (SeedTheorem1.counting_overlay_decides). Equal views: Impossibility.views_equal. *)
Lemma indistinguishable_wrt_WD_execution : forall V1 V_new,
  sender_saw_timeout (T1_packet_loss V1) (W_D V1) /\
  sender_saw_timeout (T2_ack_loss V1 V_new) (W_D V1) /\
  ~ op_executed (T1_packet_loss V1) (W_D V1) /\
  op_executed (T2_ack_loss V1 V_new) (W_D V1).
Proof.
  intros V1 V_new. split; [| split; [| split]].
  - cbn. auto.
  - cbn. auto 12.
  - intros [r [h | [h | [h | []]]]]; discriminate.
  - exists ResWriteAck. cbn. auto.
Qed.

Theorem printed_views_differ : forall V1 V_new,
  ~ sender_indistinguishable (T1_packet_loss V1) (T2_ack_loss V1 V_new).
Proof. intros V1 V_new h. discriminate h. Qed.

Definition counting_overlay : TransparentOverlay :=
  any_overlay (fun v _ => Nat.ltb (length v) 3).

Theorem counting_overlay_decides : forall V1 V_new,
  decide_retransmit counting_overlay (sender_view (T1_packet_loss V1)) (W_D V1) = true /\
  decide_retransmit counting_overlay (sender_view (T2_ack_loss V1 V_new)) (W_D V1) = false.
Proof. intros V1 V_new. split; reflexivity. Qed.
