-- Which messages are scheduled, for when, and what holds one up?
create or replace view queen.timers as
select
    t.queue,
    t.timer_key,
    t.partition,
    t.deliver_at,
    case
        when t.claim_token is not null and t.held_until > clock_timestamp() then 'claimed'
        when t.held_until > clock_timestamp() then 'paused'
        when t.deliver_at <= clock_timestamp() then 'due'
        else 'pending'
    end as state,
    t.held_until,
    t.transaction_id,
    t.message_id,
    queen_store.payload_text(
        (case when t.encrypted then 32 else 0 end)::smallint, t.payload) as payload,
    t.payload as payload_bytes,
    t.encrypted,
    t.dedup,
    t.attempts,
    t.last_error,
    t.producer,
    t.created_at,
    t.updated_at,
    t.tenant_id
from queen_store.timers t;

comment on view queen.timers is
    'Messages that are scheduled and not delivered yet. Filter by tenant_id and queue.';
comment on column queen.timers.queue is 'Queue it will go to.';
comment on column queen.timers.timer_key is 'Name of the timer, unique in its queue.';
comment on column queen.timers.partition is 'Partition it will go to.';
comment on column queen.timers.deliver_at is 'Not delivered before.';
comment on column queen.timers.state is
    'pending; due; claimed = a broker is about to deliver it; paused = due, but it is tried again at held_until only.';
comment on column queen.timers.held_until is 'End of the claim or of the pause after a fire that came to nothing.';
comment on column queen.timers.transaction_id is 'transactionId it will have.';
comment on column queen.timers.message_id is 'Id it will have.';
comment on column queen.timers.payload is 'Payload as text; null where it is encrypted.';
comment on column queen.timers.payload_bytes is 'Payload as stored.';
comment on column queen.timers.encrypted is 'Whether the payload is an encryption envelope.';
comment on column queen.timers.dedup is 'Whether it is dropped if its transactionId is in the partition already when it fires.';
comment on column queen.timers.attempts is 'Fires that failed for a reason that lies in the timer.';
comment on column queen.timers.last_error is 'Why the last of them failed.';
comment on column queen.timers.producer is 'Authenticated producer or null.';
comment on column queen.timers.created_at is 'When it was first scheduled.';
comment on column queen.timers.updated_at is 'When it was last scheduled.';
comment on column queen.timers.tenant_id is 'Owner.';
