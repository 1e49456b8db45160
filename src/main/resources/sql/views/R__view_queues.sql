-- Which queues are there, and how are they configured?
create or replace view queen.queues as
select
    q.name as queue,
    q.tenant_id,
    q.namespace,
    q.task,
    q.created_at,
    q.lease_seconds,
    q.retry_limit,
    q.dead_letter_queue or q.dlq_after_max_retries as dead_letters_on,
    q.delayed_processing_seconds,
    q.window_buffer_seconds,
    q.dedup_window_seconds,
    q.retention_enabled,
    q.retention_seconds,
    q.completed_retention_seconds,
    q.max_wait_seconds,
    q.encryption_enabled,
    q.id as queue_id
from queen_store.queues q
where q.deleted_at is null;

comment on view queen.queues is 'Live queues and their options. One row each.';
comment on column queen.queues.queue is 'Name.';
comment on column queen.queues.tenant_id is 'Owner; 00000000-0000-0000-0000-000000000001 without tenancy.';
comment on column queen.queues.namespace is 'Label of discovery pops.';
comment on column queen.queues.task is 'Label of discovery pops.';
comment on column queen.queues.created_at is 'When it was made.';
comment on column queen.queues.lease_seconds is 'Length of a lease when the pop names none.';
comment on column queen.queues.retry_limit is 'Failed acks that redeliver; the next one dead-letters.';
comment on column queen.queues.dead_letters_on is 'Whether an exhausted message is kept as a dead letter; else it is dropped.';
comment on column queen.queues.delayed_processing_seconds is 'How long after its push a message can be popped.';
comment on column queen.queues.window_buffer_seconds is 'Quiet period of a partition before it delivers.';
comment on column queen.queues.dedup_window_seconds is 'How long a transaction id is refused a second time in its partition; 0 = off.';
comment on column queen.queues.retention_enabled is 'Switches the two retention ages on.';
comment on column queen.queues.retention_seconds is 'Age at which a message goes, consumed or not; 0 = never.';
comment on column queen.queues.completed_retention_seconds is 'Age at which a message goes once every group has passed it; 0 = never.';
comment on column queen.queues.max_wait_seconds is 'Age at which a message goes whatever its state; 0 = never.';
comment on column queen.queues.encryption_enabled is 'Whether payloads are stored encrypted.';
comment on column queen.queues.queue_id is 'Internal number.';
