import { useQuery } from '@tanstack/react-query';
import { Gauge } from 'lucide-react';
import type { ThresholdSuggestions } from '@portcullis/client/index.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { formatCount } from '../../../format.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';

const text = operatorMessages.suggestions;
type Suggestion = ThresholdSuggestions['data'][number];

/** Thresholds by the traffic and the attacks of the last seven days. */
export function SuggestionsCard({ slug }: { readonly slug: string }) {
  const suggestions = useQuery({
    queryKey: ['operator', 'suggestions', slug],
    queryFn: async ({ signal }) =>
      (await personClient.suggestThresholds({ slug }, { signal })).data,
  });
  return (
    <ListPanel<Suggestion>
      title={text.title}
      isHeaded
      rows={suggestions.data ?? []}
      empty={{ icon: Gauge, ...text.none }}
      keyOf={({ subject }) => subject}
      columns={[
        { title: text.target, className: 'mono strong', cell: ({ subject }) => subject },
        { title: text.usual, cell: ({ usual }) => (usual === null ? text.little : ratesOf(usual)) },
        { title: text.now, cell: ({ present }) => ratesOf(present) },
        {
          title: text.suggested,
          cell: ({ suggested }) => (suggested === null ? text.asNow : ratesOf(suggested)),
        },
        {
          title: text.missed,
          isNumber: true,
          cell: ({ attacks, present, suggested }) =>
            text.ofAttacks((suggested ?? present).missed, attacks),
        },
        {
          title: text.reported,
          isNumber: true,
          cell: ({ present, suggested }) => text.hours((suggested ?? present).reported),
        },
      ]}
    />
  );
}

function ratesOf({ pps, mbps }: { readonly pps: number; readonly mbps: number }): string {
  return text.rates(formatCount(pps), formatCount(mbps));
}
