-- Which transactions may be in the way of pushes? Those that have written to lanes, or locked some,
-- and not ended. Looks at no lane, whatever their number; queen.blocked_partitions says which ones.
create or replace view queen.lane_holders as
select
    h.pid,
    h.application_name,
    h.user_name,
    h.client_addr,
    h.state,
    h.transaction_age,
    h.last_query,
    h.prepared_transaction,
    h.waiting_pids
from queen_store.lane_holders(interval '0') h;

comment on view queen.lane_holders is
    'Transactions that may hold partitions, so that pushes wait. A broker holds some for milliseconds; an application for as long as its transaction lasts.';
comment on column queen.lane_holders.pid is 'Holder: pg_terminate_backend(pid) ends it; null = a prepared transaction.';
comment on column queen.lane_holders.application_name is 'Of the holder; null where the server hides other sessions from you (grant pg_read_all_stats).';
comment on column queen.lane_holders.user_name is 'Role of the holder.';
comment on column queen.lane_holders.client_addr is 'Address of the holder; null = the machine of the server.';
comment on column queen.lane_holders.state is 'What the holder does; "idle in transaction" is an application that forgot to commit.';
comment on column queen.lane_holders.transaction_age is 'How long its transaction has been open, or prepared.';
comment on column queen.lane_holders.last_query is 'Its current or last statement.';
comment on column queen.lane_holders.prepared_transaction is 'Name for COMMIT PREPARED or ROLLBACK PREPARED; null = none.';
comment on column queen.lane_holders.waiting_pids is 'Sessions that wait for the holder, for this or another lock.';
