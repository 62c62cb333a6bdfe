import { Button, SegmentedControl } from '@mantine/core';
import type { Delivery, Webhook } from '@portcullis/client/index.ts';
import { Send } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { Time } from '../../../components/Time.tsx';
import { useWrite } from '../../../components/use-write.ts';
import { messages } from '../../../messages/index.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { type DeliveryState, useDeliveries } from './queries.ts';

const text = messages.webhooks.log;
const STATES = ['all', 'pending', 'delivered', 'failed'] as const;
type Shown = (typeof STATES)[number];
const TONES: Readonly<Record<string, Tone>> = { delivered: 'ok', pending: 'warn', failed: 'bad' };

/** What was sent or waits, with every attempt. */
export function DeliveryLog({ webhook }: { readonly webhook: Webhook }) {
  const [shown, setShown] = useState<Shown>('all');
  const state: DeliveryState | null = shown === 'all' ? null : shown;
  const log = useDeliveries(webhook.id, state);
  const client = usePeopleClient();
  const redeliver = useWrite((delivery: number) =>
    client.redeliver({ webhook: webhook.id, delivery }),
  );
  const deliveries = log.data?.pages.flatMap(({ data }) => data) ?? [];
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
      {log.error !== null ? (
        <ErrorState error={log.error} onRetry={() => void log.refetch()} />
      ) : log.data === undefined ? (
        <Loading rows={3} />
      ) : deliveries.length === 0 ? (
        <EmptyState icon={Send} title={text.empty.title} text={text.empty.text} />
      ) : (
        <DeliveryTable
          deliveries={deliveries}
          refusal={webhook.enabled ? null : text.isDisabled}
          onRedeliver={(delivery) => redeliver.mutate(delivery)}
        />
      )}
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

interface TableProps {
  readonly deliveries: readonly Delivery[];
  /** Why nothing can be delivered again now; null when it can. */
  readonly refusal: string | null;
  onRedeliver(delivery: number): void;
}

function DeliveryTable({ deliveries, refusal, onRedeliver }: TableProps) {
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.columns.event}</th>
            <th scope="col">{text.columns.target}</th>
            <th scope="col">{text.columns.state}</th>
            <th scope="col">{text.columns.attempts}</th>
            <th scope="col">{text.columns.at}</th>
            <th scope="col">
              <span className="hidden">{text.columns.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id}>
              <td className="mono">{delivery.event}</td>
              <td className="mono">{delivery.target}</td>
              <td>
                <Pill
                  tone={TONES[delivery.state] ?? 'neutral'}
                  moving={delivery.state === 'pending'}
                >
                  {text.stateName(delivery.state)}
                </Pill>
              </td>
              <td>
                <Attempts delivery={delivery} />
              </td>
              <td className="dim nowrap">
                <Time at={delivery.created_at} />
              </td>
              <td className="num">
                <RoleButton
                  needs="admin"
                  refusal={delivery.can_redeliver ? refusal : text.isPending}
                  variant="default"
                  size="compact-sm"
                  onClick={() => onRedeliver(delivery.id)}
                >
                  {text.redeliver}
                </RoleButton>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Attempts({
  delivery: { attempts, next_attempt_at: next },
}: {
  readonly delivery: Delivery;
}) {
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
