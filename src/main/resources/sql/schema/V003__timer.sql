-- V003: timers, messages that are stored now and enter their lane at a time of their own.

create table queen_store.timers (
    tenant_id uuid not null,
    queue text collate "C" not null check (octet_length(queue) between 1 and 1024),
    timer_key text collate "C" not null check (octet_length(timer_key) between 1 and 512),
    partition text not null check (octet_length(partition) between 1 and 1024),
    deliver_at timestamptz not null,
    transaction_id text not null check (octet_length(transaction_id) between 1 and 65535),
    message_id uuid not null,
    payload bytea not null,
    encrypted boolean not null default false,
    dedup boolean not null default false,
    producer text,
    attempts integer not null default 0,
    last_error text,
    claim_token uuid,
    held_until timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    -- Of the queue and not of the timer: the timers of a lane are in one shard, so that its order
    -- is the order of one index range.
    shard smallint not null generated always as (
        ((hashtextextended(queue, uuid_hash_extended(tenant_id, 0)) >> 58) & 63)::smallint) stored,
    -- The queue as a number; those of a shard are one range of numbers.
    source bigint not null generated always as (
        hashtextextended(queue, uuid_hash_extended(tenant_id, 0))) stored,
    visible_at timestamptz not null generated always as (
        greatest(deliver_at, held_until)) stored,
    primary key (tenant_id, queue, timer_key)
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off
);
-- A claim moves visible_at on purpose: what is claimed or waits after a failure leaves the head of
-- the index, where the next claim begins.
create index timers_shard_visible_at_idx on queen_store.timers (shard, visible_at, deliver_at);
-- What is due in one queue, however much is due in others of its shard.
create index timers_source_visible_at_idx on queen_store.timers (source, visible_at, deliver_at);
-- What was given back and waits, by lane: later timers of the lane may not pass it.
create index timers_waiting_idx on queen_store.timers (source, partition, deliver_at, held_until)
    where held_until is not null and claim_token is null and attempts = 0;

do $$
begin
    alter table queen_store.timers alter column payload set compression lz4;
exception when feature_not_supported or invalid_parameter_value then
    alter table queen_store.timers alter column payload set storage external;
end
$$;

comment on table queen_store.timers is
    'Scheduled messages. At its time a row becomes a message: stored in its lane and deleted here in one commit, so it is pending or in the log and never both.';
comment on column queen_store.timers.tenant_id is 'Owner.';
comment on column queen_store.timers.queue is 'Queue the message will go to; made at the fire if there is none.';
comment on column queen_store.timers.timer_key is 'Name of the timer, unique in its queue: scheduling it again replaces it. 1 to 512 bytes.';
comment on column queen_store.timers.partition is 'Lane the message will go to; made at the fire if there is none.';
comment on column queen_store.timers.deliver_at is 'Not delivered before.';
comment on column queen_store.timers.transaction_id is 'transactionId the message will have.';
comment on column queen_store.timers.message_id is 'Id the message will have: promised to whoever scheduled it, a new one with each schedule.';
comment on column queen_store.timers.payload is 'Payload as it will be stored.';
comment on column queen_store.timers.encrypted is 'Whether the payload is an encryption envelope.';
comment on column queen_store.timers.dedup is
    'Whether the timer is dropped if its transactionId is in the lane, within the dedup window, when it fires.';
comment on column queen_store.timers.producer is 'Authenticated producer or null.';
comment on column queen_store.timers.attempts is 'Fires that failed for a reason that lies in the timer.';
comment on column queen_store.timers.last_error is 'Why the last of them failed.';
comment on column queen_store.timers.claim_token is 'Random number of the claim of the broker that is about to fire it; null = nobody is.';
comment on column queen_store.timers.held_until is
    'Nobody claims it before: with a claim_token the end of that claim, else the end of a pause after a fire that came to nothing.';
comment on column queen_store.timers.created_at is 'When it was first scheduled.';
comment on column queen_store.timers.updated_at is 'When it was last scheduled.';
comment on column queen_store.timers.shard is 'One of 64 parts, by tenant and queue: claims take from all of them alike.';
comment on column queen_store.timers.source is 'Hash of tenant and queue: so the due timers of one queue are found behind any number of others.';
comment on column queen_store.timers.visible_at is 'When it can be claimed: deliver_at, or held_until where that is later.';

-- As for keys: the answer to a transaction may be lost, and by the time anybody asks again a timer
-- may have fired.
alter table queen_store.bundles
    add column timer_statuses text[],
    add column timer_transaction_ids text[],
    add column timer_deliver_ats timestamptz[];
comment on column queen_store.bundles.timer_statuses is
    'What became of each timer operation of the bundle; null = it had none.';
comment on column queen_store.bundles.timer_transaction_ids is 'Of those that were cancelled: transactionId of the timer.';
comment on column queen_store.bundles.timer_deliver_ats is 'Of those that were scheduled: the time.';
