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

-- Quotas: what tenants may keep of keys and timers. The tables themselves are measured, now and
-- then and page by page; a counter that every write moved would be the one row that all of a
-- tenant's calls wait for.

-- queen_store.read_quotas: what tenants may do, and what they were last seen to have.
-- Called by  QuotaProcedures
-- Locks      none
-- Returns    one row per quota; measured_at is null for a tenant that had nothing
-- Cost       1 statement over all quotas
create or replace function queen_store.read_quotas()
returns table (
    tenant_id uuid, enabled boolean, max_rows bigint, max_bytes bigint, max_timers bigint,
    max_timer_horizon_seconds bigint, max_reads_per_second integer, max_writes_per_second integer,
    kv_rows bigint, kv_bytes bigint, timer_rows bigint, measured_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select q.tenant_id, q.enabled, q.max_rows, q.max_bytes, q.max_timers,
           q.max_timer_horizon_seconds, q.max_reads_per_second, q.max_writes_per_second,
           coalesce(u.kv_rows, 0), coalesce(u.kv_bytes, 0), coalesce(u.timer_rows, 0),
           u.measured_at
    from queen_store.kv_quotas q
    left join queen_store.kv_usage u on u.tenant_id = q.tenant_id;
end
$$;

comment on function queen_store.read_quotas() is
    'What tenants may do with keys and timers, and what they were last seen to have. Locks: none.';

-- queen_store.set_kv_quota: says what a tenant may do with keys and timers.
-- Called by  QuotaProcedures
-- Locks      kv_quotas, the row; waits
-- Returns    nothing
-- Cost       1 statement
create or replace function queen_store.set_kv_quota(
    p_tenant_id uuid,
    -- Columns to set; the others stay, in a new row as unbounded as can be.
    p_columns text[],
    p_enabled boolean, p_max_rows bigint, p_max_bytes bigint, p_max_timers bigint,
    p_max_timer_horizon_seconds bigint, p_max_reads_per_second integer,
    p_max_writes_per_second integer)
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into queen_store.kv_quotas as q (
        tenant_id, enabled, max_rows, max_bytes, max_timers, max_timer_horizon_seconds,
        max_reads_per_second, max_writes_per_second, changed_at)
    values (
        p_tenant_id, coalesce(p_enabled, true), p_max_rows, p_max_bytes, p_max_timers,
        p_max_timer_horizon_seconds, p_max_reads_per_second, p_max_writes_per_second,
        clock_timestamp())
    on conflict (tenant_id) do update
    set enabled = case when 'enabled' = any (p_columns)
            then excluded.enabled else q.enabled end,
        max_rows = case when 'max_rows' = any (p_columns)
            then excluded.max_rows else q.max_rows end,
        max_bytes = case when 'max_bytes' = any (p_columns)
            then excluded.max_bytes else q.max_bytes end,
        max_timers = case when 'max_timers' = any (p_columns)
            then excluded.max_timers else q.max_timers end,
        max_timer_horizon_seconds = case when 'max_timer_horizon_seconds' = any (p_columns)
            then excluded.max_timer_horizon_seconds else q.max_timer_horizon_seconds end,
        max_reads_per_second = case when 'max_reads_per_second' = any (p_columns)
            then excluded.max_reads_per_second else q.max_reads_per_second end,
        max_writes_per_second = case when 'max_writes_per_second' = any (p_columns)
            then excluded.max_writes_per_second else q.max_writes_per_second end,
        changed_at = excluded.changed_at;
end
$$;

comment on function queen_store.set_kv_quota(
    uuid, text[], boolean, bigint, bigint, bigint, bigint, integer, integer) is
    'Says what a tenant may do with keys and timers. Locks: kv_quotas, the row; waits.';

-- queen_store.usage_outlook: what a measurement would have to read, and whether anything has
-- changed since the last one.
-- Called by  UsageProcedures
-- Locks      none
-- Returns    one row: the time, pages of either table, how often their rows have changed since the
--            server last forgot to count that, and how long ago a measurement began (null = none)
-- Cost       1 statement over the last measurement
create or replace function queen_store.usage_outlook(p_now timestamptz)
returns table (
    read_at timestamptz, kv_pages bigint, timer_pages bigint, changes bigint,
    age_seconds double precision)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select p_now, max(t.pages) filter (where t.name = 'kv'),
           max(t.pages) filter (where t.name = 'timers'), sum(t.changes)::bigint,
           (select extract(epoch from p_now - max(u.measured_at))::double precision
            from queen_store.kv_usage u)
    from (
        select c.relname as name,
               pg_relation_size(c.oid) / current_setting('block_size')::bigint as pages,
               pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
                   + pg_stat_get_tuples_deleted(c.oid) as changes
        from pg_class c
        where c.oid in ('queen_store.kv'::regclass, 'queen_store.timers'::regclass)) t;
end
$$;

comment on function queen_store.usage_outlook(timestamptz) is
    'What a measurement of keys and timers would read, and whether anything has changed. Locks: none.';

-- queen_store.weigh_kv: what tenants have of keys in some pages of the table.
-- Called by  UsageProcedures
-- Locks      none
-- Returns    one row per tenant that has some there, expired ones apart
-- Cost       1 statement that reads p_pages pages; values stored elsewhere are not touched
create or replace function queen_store.weigh_kv(
    p_first_page bigint, p_pages integer, p_now timestamptz)
returns table (tenant_id uuid, items bigint, bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_indexscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_from tid := format('(%s,0)', p_first_page)::tid;
    v_to tid := format('(%s,0)', p_first_page + p_pages)::tid;
begin
    return query
    select k.tenant_id, count(*), coalesce(sum(octet_length(k.value)), 0)::bigint
    from queen_store.kv k
    where k.ctid >= v_from and k.ctid < v_to
      and (k.expires_at is null or k.expires_at > p_now)
    group by k.tenant_id;
end
$$;

comment on function queen_store.weigh_kv(bigint, integer, timestamptz) is
    'What tenants have of keys in some pages of the table. Locks: none.';

-- queen_store.weigh_timers: what tenants have scheduled in some pages of the table.
-- Called by  UsageProcedures
-- Locks      none
-- Returns    one row per tenant that has some there
-- Cost       1 statement that reads p_pages pages; payloads stored elsewhere are not touched
create or replace function queen_store.weigh_timers(p_first_page bigint, p_pages integer)
returns table (tenant_id uuid, items bigint, bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_indexscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_from tid := format('(%s,0)', p_first_page)::tid;
    v_to tid := format('(%s,0)', p_first_page + p_pages)::tid;
begin
    return query
    select t.tenant_id, count(*), coalesce(sum(octet_length(t.payload)), 0)::bigint
    from queen_store.timers t
    where t.ctid >= v_from and t.ctid < v_to
    group by t.tenant_id;
end
$$;

comment on function queen_store.weigh_timers(bigint, integer) is
    'What tenants have scheduled in some pages of the table. Locks: none.';

-- queen_store.record_usage: keeps a measurement of all tenants; who is not named has nothing.
-- Called by  UsageProcedures
-- Locks      kv_usage, ascending tenant_id; waits
-- Returns    nothing; what was measured later stays, unless the clock has been set back since
-- Cost       2 statements over all tenants
create or replace function queen_store.record_usage(
    p_measured_at timestamptz, p_tenant_ids uuid[], p_kv_rows bigint[], p_kv_bytes bigint[],
    p_timer_rows bigint[], p_timer_bytes bigint[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    insert into queen_store.kv_usage as u (
        tenant_id, kv_rows, kv_bytes, timer_rows, timer_bytes, measured_at)
    select i.tenant_id, i.kv_rows, i.kv_bytes, i.timer_rows, i.timer_bytes, p_measured_at
    from (
        select *
        from unnest(p_tenant_ids, p_kv_rows, p_kv_bytes, p_timer_rows, p_timer_bytes)
            as i (tenant_id, kv_rows, kv_bytes, timer_rows, timer_bytes)
        union all
        -- Whoever enforces a quota waits for news, of nothing too.
        select q.tenant_id, 0, 0, 0, 0
        from queen_store.kv_quotas q
        where q.tenant_id <> all (p_tenant_ids)) i
    order by i.tenant_id
    on conflict (tenant_id) do update
    set kv_rows = excluded.kv_rows,
        kv_bytes = excluded.kv_bytes,
        timer_rows = excluded.timer_rows,
        timer_bytes = excluded.timer_bytes,
        measured_at = excluded.measured_at
    where u.measured_at < excluded.measured_at or u.measured_at > clock_timestamp();

    delete from queen_store.kv_usage u
    where u.ctid = any (array(
        select g.ctid
        from queen_store.kv_usage g
        where g.measured_at < p_measured_at or g.measured_at > clock_timestamp()
        for update skip locked));
end
$$;

comment on function queen_store.record_usage(
    timestamptz, uuid[], bigint[], bigint[], bigint[], bigint[]) is
    'Keeps a measurement of keys and timers of all tenants. Locks: kv_usage, ascending tenant_id; waits.';

-- queen_store.measure_tenant: measures one tenant now, and keeps that, unless what is kept is from
-- later and the clock has not been set back since.
-- Called by  QuotaProcedures
-- Locks      kv_usage, the row; waits
-- Returns    one row: what it has
-- Cost       2 statements that read the keys and timers of the tenant, 1 that writes
create or replace function queen_store.measure_tenant(p_tenant_id uuid)
returns table (kv_rows bigint, kv_bytes bigint, timer_rows bigint, measured_at timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_timer_bytes bigint;
begin
    select count(*), coalesce(sum(octet_length(k.value)), 0) into kv_rows, kv_bytes
    from queen_store.kv k
    where k.tenant_id = p_tenant_id and (k.expires_at is null or k.expires_at > v_now);
    select count(*), coalesce(sum(octet_length(t.payload)), 0) into timer_rows, v_timer_bytes
    from queen_store.timers t
    where t.tenant_id = p_tenant_id;
    measured_at := v_now;
    insert into queen_store.kv_usage as u (
        tenant_id, kv_rows, kv_bytes, timer_rows, timer_bytes, measured_at)
    values (p_tenant_id, kv_rows, kv_bytes, timer_rows, v_timer_bytes, v_now)
    on conflict (tenant_id) do update
    set kv_rows = excluded.kv_rows,
        kv_bytes = excluded.kv_bytes,
        timer_rows = excluded.timer_rows,
        timer_bytes = excluded.timer_bytes,
        measured_at = excluded.measured_at
    where u.measured_at < excluded.measured_at or u.measured_at > clock_timestamp();
    return next;
end
$$;

comment on function queen_store.measure_tenant(uuid) is
    'Measures the keys and timers of one tenant now, and keeps that. Locks: kv_usage, the row; waits.';
