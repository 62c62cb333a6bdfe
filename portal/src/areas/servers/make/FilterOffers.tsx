import { Button } from '@mantine/core';
import type { GameServerBuild } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { ShieldPlus } from 'lucide-react';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import { useSession } from '../../../session/session.ts';
import { placeOf } from '../place.ts';

type Suggested = GameServerBuild['data']['suggested_filters'][number];

interface Props {
  readonly suggested: readonly Suggested[];
}

/** The filters that fit the ports of a game, to add each at once. Nothing where the address is not the organisation's. */
export function FilterOffers({ suggested }: Props) {
  if (suggested.length === 0) return null;
  return suggested.map((one) => (
    <FilterOffer key={`${placeOf(one)} ${one.protocol}`} suggested={one} />
  ));
}

function FilterOffer({ suggested }: { readonly suggested: Suggested }) {
  const { ip, port, type, name } = suggested;
  const { client } = useSession();
  const catalogue = useQuery({
    queryKey: ['filters', ip],
    retry: false,
    queryFn: ({ signal }) => client.listAvailableFilters({ ip }, { signal }),
  });
  const add = useWrite(() => client.applyFilters({ ip, body: { type, port: String(port) } }));
  const isAvailable = catalogue.data?.data.some((one) => one.type === type) === true;
  if (!isAvailable) return null;
  return (
    <div className="stack">
      {add.isSuccess ? (
        <p role="status">{text.made.filterAdded(name)}</p>
      ) : (
        <div>
          <p className="dim">{text.made.filterText}</p>
          <Button
            variant="default"
            leftSection={<ShieldPlus size={15} aria-hidden="true" />}
            loading={add.isPending}
            onClick={() => add.mutate()}
          >
            {text.made.addFilter(name, placeOf({ ip, port }))}
          </Button>
        </div>
      )}
      <ProblemNotice error={add.error} />
    </div>
  );
}
