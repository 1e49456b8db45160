-- Switches: what operators have switched off while the brokers run.

-- queen_store.read_switches: all switches that were ever set; one without a row is on.
-- Called by  SwitchProcedures
-- Locks      none
-- Returns    one row per switch
-- Cost       1 statement over a handful of rows
create or replace function queen_store.read_switches()
returns table (name text, enabled boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select s.name, s.enabled
    from queen_store.switches s;
end
$$;

comment on function queen_store.read_switches() is
    'All switches that were ever set; one without a row is on. Locks: none.';

-- queen_store.set_switches: switches things on or off.
-- Called by  SwitchProcedures
-- Locks      switches, by name; waits
-- Returns    nothing
-- Cost       1 statement
create or replace function queen_store.set_switches(p_names text[], p_enabled boolean[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into queen_store.switches as s (name, enabled, changed_at)
    select i.name, i.enabled, clock_timestamp()
    from unnest(p_names, p_enabled) i (name, enabled)
    order by i.name
    on conflict (name) do update
    set enabled = excluded.enabled, changed_at = excluded.changed_at;
end
$$;

comment on function queen_store.set_switches(text[], boolean[]) is
    'Switches things on or off. Locks: switches, by name; waits.';
