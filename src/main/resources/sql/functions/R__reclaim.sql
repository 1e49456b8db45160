-- Orders to give space back. What is to be done for one is decided in the broker whose turn it is
-- at the job of the epochs; here is what it has been told, and what it tells.

-- queen_store.order_reclaim: orders that bytes of the log become free.
-- Called by  ReclaimProcedures
-- Locks      reclaims: the new row, and old ones that go
-- Returns    its number; null = another order is open
-- Cost       2 statements
create or replace function queen_store.order_reclaim(p_bytes bigint, p_patience_seconds integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kept constant integer := 100;
    v_id integer;
begin
    insert into queen_store.reclaims (asked_bytes, patience_seconds, last_epoch, ordered_at)
    select p_bytes, p_patience_seconds, e.epoch, clock_timestamp()
    from queen_store.epochs e
    where e.state = 'open'
    on conflict ((ended_at is null)) where ended_at is null do nothing
    returning id into v_id;
    delete from queen_store.reclaims r where r.id <= v_id - v_kept;
    return v_id;
end
$$;
comment on function queen_store.order_reclaim(bigint, integer) is
    'Orders that bytes of the log become free. Locks: reclaims: the new row, and old ones that go.';

-- queen_store.open_reclaim: the order that has not ended.
-- Called by  ReclaimProcedures
-- Locks      none
-- Returns    one row, or none
-- Cost       1 statement, one index probe
create or replace function queen_store.open_reclaim()
returns table (
    id integer, asked_bytes bigint, patience_seconds integer, last_epoch integer,
    freed_bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select r.id, r.asked_bytes, r.patience_seconds, r.last_epoch, r.freed_bytes
    from queen_store.reclaims r
    where r.ended_at is null;
end
$$;
comment on function queen_store.open_reclaim() is
    'The order for space that has not ended. Locks: none.';

-- queen_store.note_reclaim: how far an order has come.
-- Called by  ReclaimProcedures
-- Locks      reclaims: its row; waits
-- Returns    whether it was open. p_event null = nothing new, p_ended = it has come to its end
-- Cost       1 statement
create or replace function queen_store.note_reclaim(
    p_id integer, p_freed_bytes bigint, p_event text, p_ended boolean, p_stopped_by text)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    update queen_store.reclaims r
    set freed_bytes = greatest(r.freed_bytes, p_freed_bytes),
        last_event = coalesce(p_event, r.last_event),
        ended_at = case when p_ended then clock_timestamp() end,
        stopped_by = p_stopped_by
    where r.id = p_id and r.ended_at is null;
    return found;
end
$$;
comment on function queen_store.note_reclaim(integer, bigint, text, boolean, text) is
    'How far an order for space has come. Locks: reclaims: its row; waits.';

-- queen_store.cancel_reclaim: ends the open order; what is free stays free.
-- Called by  ReclaimProcedures
-- Locks      reclaims: one row; waits
-- Returns    its number; null = none was open
-- Cost       1 statement
create or replace function queen_store.cancel_reclaim()
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id integer;
begin
    update queen_store.reclaims r
    set ended_at = clock_timestamp(), stopped_by = 'an operator'
    where r.ended_at is null
    returning r.id into v_id;
    return v_id;
end
$$;
comment on function queen_store.cancel_reclaim() is
    'Ends the open order for space. Locks: reclaims: one row; waits.';
