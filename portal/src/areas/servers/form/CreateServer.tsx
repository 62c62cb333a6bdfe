import { useNavigate } from '@tanstack/react-router';
import { Loaded } from '../../../components/Loaded.tsx';
import { useOrganisation } from '../../operator/queries.ts';
import { ServerForm } from './ServerForm.tsx';

interface Props {
  /** Its slug. */
  readonly organisation: string;
  onClose(): void;
}

/** The form of a new server among the servers of an organisation, for an operator; then its page. */
export default function CreateServer({ organisation, onClose }: Props) {
  const found = useOrganisation(organisation);
  const navigate = useNavigate();
  return (
    <Loaded query={found} rows={6}>
      {(whole) => {
        if (whole === null) return null;
        return (
          <ServerForm
            organisation={whole}
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
