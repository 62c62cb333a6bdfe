import { Button, SegmentedControl } from '@mantine/core';
import type { Delivery, Webhook } from '@portcullis/client/index.ts';
import { Send } from 'lucide-react';
import { useState } from 'react';
import type { Column } from '../../../components/list/columns.ts';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { PlainTable } from '../../../components/list/PlainTable.tsx';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { Time } from '../../../components/Time.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { webhookMessages } from '../../../messages/webhooks.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { useDeliveries } from './queries.ts';

const text = webhookMessages.webhooks.log;
const STATES = ['all', 'pending', 'delivered', 'failed'] as const;
const TONES: Readonly<Record<string, Tone>> = { delivered: 'ok', pending: 'warn', failed: 'bad' };

/** The log of what was sent or waits, with every attempt. */
export function DeliveryLog({ webhook }: { readonly webhook: Webhook }) {
  const [shown, setShown] = useState<(typeof STATES)[number]>('all');
  const log = useDeliveries(webhook.id, shown === 'all' ? null : shown);
  const client = usePeopleClient();
  const redeliver = useWrite((delivery: number) =>
    client.redeliver({ webhook: webhook.id, delivery }),
  );
  const columns = columnsOf(webhook, (delivery) => redeliver.mutate(delivery));
  return (
    <section aria-label={text.title(webhook.name)}>
      <div className="tools panel">
        <SegmentedControl
          aria-label={text.show}
          data={STATES.map((value) => ({ value, label: text.states[value] }))}
          value={shown}
          onChange={setShown}
        />
        <span className="dim">{text.kept}</span>
      </div>
      <ProblemNotice error={redeliver.error} />
      <Loaded query={log} rows={3}>
        {({ pages }) =>
          pages.every(({ data }) => data.length === 0) ? (
            <EmptyState icon={Send} title={text.empty.title} text={text.empty.text} />
          ) : (
            <PlainTable
              columns={columns}
              rows={pages.flatMap(({ data }) => data)}
              keyOf={({ id }) => id}
            />
          )
        }
      </Loaded>
      {log.hasNextPage && (
        <div className="row card-pad">
          <Button
            variant="default"
            loading={log.isFetchingNextPage}
            onClick={() => void log.fetchNextPage()}
          >
            {text.older}
          </Button>
        </div>
      )}
    </section>
  );
}

function columnsOf(
  { enabled }: Webhook,
  onRedeliver: (delivery: number) => void,
): readonly Column<Delivery>[] {
  return [
    { title: text.columns.event, className: 'mono', cell: ({ event }) => event },
    { title: text.columns.target, className: 'mono', cell: ({ target }) => target },
    {
      title: text.columns.state,
      cell: ({ state }) => (
        <Pill tone={TONES[state] ?? 'neutral'} moving={state === 'pending'}>
          {text.stateName(state)}
        </Pill>
      ),
    },
    { title: text.columns.attempts, cell: (delivery) => <Attempts delivery={delivery} /> },
    {
      title: text.columns.at,
      className: 'dim nowrap',
      cell: ({ created_at: at }) => <Time at={at} />,
    },
    {
      title: text.columns.actions,
      isTitleHidden: true,
      isNumber: true,
      cell: ({ id, can_redeliver: may }) => (
        <RoleButton
          refusal={may ? (enabled ? null : text.isDisabled) : text.isPending}
          variant="default"
          size="compact-sm"
          onClick={() => onRedeliver(id)}
        >
          {text.redeliver}
        </RoleButton>
      ),
    },
  ];
}

interface AttemptsProps {
  readonly delivery: Delivery;
}

function Attempts({ delivery: { attempts, next_attempt_at: next } }: AttemptsProps) {
  return (
    <>
      {attempts.map(({ at, duration_ms: ms, response_status: status, error }) => (
        <div key={at}>
          <span className="dim">
            <Time at={at} />,
          </span>{' '}
          {text.result(status, error, ms)}
        </div>
      ))}
      {next !== null && (
        <div className="dim">
          {text.next} <Time at={next} />
        </div>
      )}
    </>
  );
}
