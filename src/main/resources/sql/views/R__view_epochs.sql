-- Where is the space of the log, and why does it not come back? One row per epoch, oldest first: an
-- epoch leaves as a whole, so what waits_for names holds up all that is written above it.
create or replace view queen.epochs as
select
    e.epoch,
    e.state,
    s.rows as estimated_segments,
    s.bytes,
    e.opened_at,
    e.closed_at,
    queen_store.epoch_waits_for(e.epoch) as waits_for,
    format('queen_store.segments_%s', e.epoch) as table_name,
    queen_store.epoch_live_bytes(e.epoch) as live_bytes
from queen_store.epochs e
left join lateral queen_store.epoch_size(e.epoch) s on true
order by e.epoch;

comment on view queen.epochs is
    'The tables that the log is made of, oldest first, and which transaction keeps one from going on.';
comment on column queen.epochs.epoch is 'Number; 0 holds what has outlived its epoch.';
comment on column queen.epochs.state is
    'evacuated (0 only), built (the next one), open (appends go there), closed (waits for its last writers), sealed, or empty (its table is about to be dropped).';
comment on column queen.epochs.estimated_segments is 'Rows, as far as statistics know; what has expired is still among them.';
comment on column queen.epochs.bytes is 'On disk: table, TOAST and index.';
comment on column queen.epochs.opened_at is 'When appends began to go there; of a built one, when it was built.';
comment on column queen.epochs.closed_at is 'When the next one took over; null = it has not.';
comment on column queen.epochs.waits_for is 'Oldest transaction that keeps the epoch in its state: pid, application_name and age; null = none, or one that the server hides from you (grant pg_read_all_stats).';
comment on column queen.epochs.table_name is 'Table of the epoch, a partition of queen_store.segments.';
comment on column queen.epochs.live_bytes is 'Of bytes, what somebody can still get, by a sample of 64 pages, which costs some 10 ms where you ask for it; the rest has expired and goes with the epoch.';
