import { useQuery } from '@tanstack/react-query';
import type { Attack } from '@portcullis/client/index.ts';
import { DropBars } from '../../../components/figures/Bars.tsx';
import { Card } from '../../../components/Card.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { dropWindow } from './drop-window.ts';

const text = messages.attack;
const RENEW_MS = 15_000;

/** The stages of the firewall that dropped packets to the address while it was attacked. */
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
    <Card title={text.drops}>
      {window === null ? (
        <p>{text.dropsGone}</p>
      ) : (
        <Loaded query={drops} rows={3}>
          {({ data, meta }) => (
            <>
              <p>
                {text.dropsLead(formatMoment(new Date(meta.from)), formatMoment(new Date(meta.to)))}
              </p>
              {data.totals.length === 0 && <p className="dim">{text.noDrops}</p>}
              <DropBars totals={data.totals} packets={meta.packets} />
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}
