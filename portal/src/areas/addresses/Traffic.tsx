import { useQuery } from '@tanstack/react-query';
import { Card } from '../../components/Card.tsx';
import { Bars } from '../../components/figures/Bars.tsx';
import { Loaded } from '../../components/Loaded.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';

const text = messages.filters.traffic;
const MAX_SHOWN = 8;

/** Traffic that passed in the last day, by protocol and port: what a filter would meet. */
export function Traffic({ ip }: { readonly ip: string }) {
  const { client } = useSession();
  const traffic = useQuery({
    queryKey: ['traffic', ip],
    queryFn: ({ signal }) => client.readTraffic({ ip }, { signal }),
  });
  return (
    <Card title={text.title} lead={text.lead}>
      <Loaded query={traffic} rows={3}>
        {({ data: { ports } }) =>
          ports.length === 0 ? (
            <p className="dim">{text.none}</p>
          ) : (
            <Bars
              isMono
              bars={ports.slice(0, MAX_SHOWN).map(({ protocol, port, samples, sources }) => ({
                name: text.name(protocol, port),
                note: <span className="dim">{text.sources(sources)}</span>,
                value: samples,
              }))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
