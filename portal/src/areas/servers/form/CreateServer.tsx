import { useNavigate } from '@tanstack/react-router';
import { Loaded } from '../../../components/Loaded.tsx';
import { useOrganisations } from '../../operator/queries.ts';
import { ServerForm } from './ServerForm.tsx';

interface Props {
  /** Its slug. */
  readonly organisation: string;
  onClose(): void;
}

/** The form of a new server among the servers of an organisation, for an operator; then its page. */
export default function CreateServer({ organisation, onClose }: Props) {
  const organisations = useOrganisations();
  const navigate = useNavigate();
  return (
    <Loaded query={organisations} rows={6}>
      {(all) => {
        const found = all.find(({ slug }) => slug === organisation);
        if (found === undefined) return null;
        return (
          <ServerForm
            organisation={found}
            onClose={onClose}
            onMade={({ uuid }) =>
              void navigate({ to: '/servers/$uuid', params: { uuid }, search: { tab: 'build' } })
            }
          />
        );
      }}
    </Loaded>
  );
}
