import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import type { Organisations } from '@portcullis/client/index.ts';
import { useRefreshOperator } from '../queries.ts';

/** A write whose answer is the organisation as it is then, which the page shows at once. */
export function useOrganisationWrite<Input>(
  write: (input: Input) => Promise<Organisations>,
  onDone?: () => void,
): UseMutationResult<Organisations, Error, Input> {
  const queries = useQueryClient();
  const refresh = useRefreshOperator();
  return useMutation({
    mutationFn: write,
    onSuccess({ data }) {
      queries.setQueryData<Organisations['data']>(['operator', 'organisations'], (known) =>
        known?.map((each) => data.find(({ slug }) => slug === each.slug) ?? each),
      );
      refresh();
      onDone?.();
    },
  });
}
