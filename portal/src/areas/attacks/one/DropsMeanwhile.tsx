import { useQuery } from '@tanstack/react-query';
import type { Attack } from '@portcullis/client/index.ts';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { formatCount, formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { dropWindow } from './drop-window.ts';

const text = messages.attack;
const RENEW_MS = 15_000;

/** Which stages of the firewall dropped packets to the address while it was attacked. */
export function DropsMeanwhile({ attack }: { readonly attack: Attack }) {
  const { client } = useSession();
  const { destination_ip: ip, status } = attack;
  const window = dropWindow(attack, Date.now());
  const drops = useQuery({
    queryKey: ['drops', ip, 'attack', attack.id],
    enabled: window !== null,
    refetchInterval: status === 'ongoing' ? RENEW_MS : false,
    queryFn: ({ signal }) =>
      client.readDrops({ ip, query: dropWindow(attack, Date.now()) ?? {} }, { signal }),
  });
  return (
    <section className="card card-pad">
      <h2>{text.drops}</h2>
      {window === null ? (
        <p>{text.dropsGone}</p>
      ) : drops.data === undefined ? (
        drops.error === null ? (
          <Loading rows={3} />
        ) : (
          <ErrorState error={drops.error} onRetry={() => void drops.refetch()} />
        )
      ) : (
        <>
          <p>
            {text.dropsLead(
              formatMoment(new Date(drops.data.meta.from)),
              formatMoment(new Date(drops.data.meta.to)),
            )}
          </p>
          {drops.data.data.totals.length === 0 && <p className="dim">{text.noDrops}</p>}
          <div className="bars">
            {drops.data.data.totals.map(({ stage, reason, by, packets }) => {
              const name = messages.drops.reason(stage, reason);
              return (
                <div key={`${stage} ${reason} ${by}`} className="bar">
                  <span>
                    {name} {by === 'xdp' && <span className="dim">{messages.drops.early}</span>}
                  </span>
                  <meter
                    aria-label={name}
                    min={0}
                    max={Math.max(1, drops.data.meta.packets)}
                    value={packets}
                  />
                  <span className="num">{formatCount(packets)}</span>
                </div>
              );
            })}
          </div>
        </>
      )}
    </section>
  );
}
