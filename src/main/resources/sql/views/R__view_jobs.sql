-- Which background jobs are there, who runs them, how did they go? A job without work is not run:
-- one that was due long ago is at rest, not late.
create or replace view queen.jobs as
select
    j.name as job,
    case
        when j.lease_until > clock_timestamp() then 'running'
        when not j.enabled then 'paused'
        when j.last_error is not null then 'failed'
        else 'at rest'
    end as state,
    j.period_ms,
    j.next_due_at,
    j.holder,
    j.runs,
    j.failures,
    j.last_started_at,
    j.last_ended_at,
    j.last_duration_ms,
    j.last_steps,
    j.last_error,
    j.last_error_at
from queen_store.jobs j;

comment on view queen.jobs is
    'Background jobs of the cluster. To pause one: update queen_store.jobs set enabled = false where name = ….';
comment on column queen.jobs.job is 'Name.';
comment on column queen.jobs.state is 'running, paused, failed (the last run did) or at rest.';
comment on column queen.jobs.period_ms is 'Time from the start of a run to that of the next.';
comment on column queen.jobs.next_due_at is 'Not run before; in the past = it has had nothing to do since.';
comment on column queen.jobs.holder is 'Number of the broker that runs it.';
comment on column queen.jobs.runs is 'Runs that came to an end.';
comment on column queen.jobs.failures is 'Of these, how many failed.';
comment on column queen.jobs.last_started_at is 'When a run last began.';
comment on column queen.jobs.last_ended_at is 'When a run last came to an end.';
comment on column queen.jobs.last_duration_ms is 'How long that run took.';
comment on column queen.jobs.last_steps is 'Of how many steps, each a transaction, that run was.';
comment on column queen.jobs.last_error is 'Why that run failed; null = it did not.';
comment on column queen.jobs.last_error_at is 'When a run last failed.';
