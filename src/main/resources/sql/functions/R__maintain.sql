-- Background jobs of the cluster: which broker runs one, when, and how it went. A lease keeps two
-- brokers from doing the same work; it guards no data, for every step of a job takes the locks that
-- make it right by itself. So none of these commits waits for the disk: what a crash of the server
-- takes back is done again. The broker calls them in autocommit, and nobody else does.

-- queen_store.register_jobs: makes the rows of jobs, and sets how often they run.
-- Called by  JobProcedures
-- Locks      jobs: rows that are new or change, by name; waits
-- Returns    nothing
-- Cost       1 statement, one index probe per job; nothing is written where nothing changes
create or replace function queen_store.register_jobs(p_names text[], p_periods_ms integer[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    insert into queen_store.jobs as j (name, period_ms, next_due_at)
    select i.name, i.period_ms, v_now
    from unnest(p_names, p_periods_ms) i (name, period_ms)
    order by i.name
    on conflict (name) do update
    set period_ms = excluded.period_ms,
        next_due_at = least(
            j.next_due_at, v_now + make_interval(secs => excluded.period_ms / 1000.0))
    where j.period_ms <> excluded.period_ms;
end
$$;
comment on function queen_store.register_jobs(text[], integer[]) is
    'Makes the rows of background jobs and sets how often they run. Locks: jobs: rows that are new or change, by name; waits.';

-- queen_store.job_waits: how long until each of these jobs may be run.
-- Called by  JobProcedures
-- Locks      none
-- Returns    one row per job that has a row: 0 = now, null = it is paused
-- Cost       1 statement, one index probe per job
create or replace function queen_store.job_waits(p_names text[])
returns table (name text, wait_ms bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    return query
    select j.name, case when j.enabled then ceil(greatest(0, 1000 * extract(epoch from
               greatest(j.next_due_at, j.lease_until) - v_now)))::bigint end
    from queen_store.jobs j
    where j.name = any (p_names);
end
$$;
comment on function queen_store.job_waits(text[]) is
    'How long until each of these background jobs may be run; null = paused. Locks: none.';

-- queen_store.claim_job: makes a broker the one that runs a job, if it is due and nobody is.
-- Called by  JobProcedures
-- Locks      jobs: one row; waits for whoever is claiming it at this moment
-- Returns    the fence of this claim; null = not due, paused, or somebody else runs it
-- Cost       1 statement, one index probe
create or replace function queen_store.claim_job(
    p_name text, p_holder uuid, p_lease_ms integer)
returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fence bigint;
begin
    -- The clock is read for the row itself: what was waited for has taken time.
    update queen_store.jobs j
    set holder = p_holder, fence = j.fence + 1, last_started_at = clock_timestamp(),
        lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    where j.name = p_name and j.enabled and j.next_due_at <= clock_timestamp()
      and (j.lease_until is null or j.lease_until <= clock_timestamp())
    returning j.fence into v_fence;
    perform set_config('synchronous_commit', 'off', true);
    return v_fence;
end
$$;
comment on function queen_store.claim_job(text, uuid, integer) is
    'Makes a broker the one that runs a background job, if it is due and nobody is. Locks: jobs: one row; waits for whoever is claiming it at this moment.';

-- queen_store.keep_job: prolongs the lease of a run.
-- Called by  JobProcedures
-- Locks      jobs: one row; waits
-- Returns    false = somebody else has claimed it since
-- Cost       1 statement, one index probe
create or replace function queen_store.keep_job(
    p_name text, p_holder uuid, p_fence bigint, p_lease_ms integer)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kept boolean;
begin
    update queen_store.jobs j
    set lease_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    where j.name = p_name and j.holder = p_holder and j.fence = p_fence
      and j.lease_until is not null;
    v_kept := found;
    perform set_config('synchronous_commit', 'off', true);
    return v_kept;
end
$$;
comment on function queen_store.keep_job(text, uuid, bigint, integer) is
    'Prolongs the lease of a run of a background job. Locks: jobs: one row; waits.';

-- queen_store.release_job: ends a run. One that left work or failed stays due.
-- Called by  JobProcedures
-- Locks      jobs: one row; waits
-- Returns    false = somebody else has claimed it since, and nothing was changed
-- Cost       1 statement, one index probe
create or replace function queen_store.release_job(
    p_name text, p_holder uuid, p_fence bigint, p_steps integer, p_more boolean, p_error text)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := clock_timestamp();
    v_released boolean;
begin
    update queen_store.jobs j
    set holder = null, lease_until = null, runs = j.runs + 1,
        next_due_at = case
            when p_more or p_error is not null then j.next_due_at
            else greatest(
                v_now, j.last_started_at + make_interval(secs => j.period_ms / 1000.0)) end,
        failures = j.failures + case when p_error is null then 0 else 1 end,
        last_ended_at = v_now,
        last_duration_ms = round(1000 * extract(epoch from v_now - j.last_started_at)),
        last_steps = p_steps,
        last_error = p_error,
        last_error_at = case when p_error is null then j.last_error_at else v_now end
    where j.name = p_name and j.holder = p_holder and j.fence = p_fence
      and j.lease_until is not null;
    v_released := found;
    perform set_config('synchronous_commit', 'off', true);
    return v_released;
end
$$;
comment on function queen_store.release_job(text, uuid, bigint, integer, boolean, text) is
    'Ends a run of a background job; one that left work or failed stays due. Locks: jobs: one row; waits.';
