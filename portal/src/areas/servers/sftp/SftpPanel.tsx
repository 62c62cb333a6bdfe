import { useQuery } from '@tanstack/react-query';
import type { SftpPlace } from '@portcullis/client/index.ts';
import { Link } from '@tanstack/react-router';
import { Lock, ServerOff } from 'lucide-react';
import { Card } from '../../../components/Card.tsx';
import { CopyIcon } from '../../../components/CopyIcon.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { sftpMessages } from '../../../messages/sftp.ts';
import { useSession } from '../../../session/session.ts';
import { rightRefusal } from '../server-right.ts';

const text = sftpMessages.place;

interface Props {
  readonly uuid: string;
  /** The caller's own rights to the server. */
  readonly rights: readonly string[];
}

/** How the person connects to the files of this server. */
export default function SftpPanel({ uuid, rights }: Props) {
  const refusal = rightRefusal(rights, 'file.sftp');
  if (refusal === null) return <Shown uuid={uuid} />;
  return <EmptyState inCard icon={Lock} title={text.refused} text={refusal} />;
}

function Shown({ uuid }: Pick<Props, 'uuid'>) {
  const { client } = useSession();
  const place = useQuery({
    queryKey: ['server', uuid, 'sftp'],
    queryFn: async ({ signal }) => (await client.readServerSftp({ slice: uuid }, { signal })).data,
  });
  return (
    <Loaded query={place} rows={4} inCard>
      {(data) =>
        data.port === null ? (
          <EmptyState inCard icon={ServerOff} {...text.none} />
        ) : (
          <Place place={data} />
        )
      }
    </Loaded>
  );
}

function Place({ place }: { readonly place: SftpPlace['data'] }) {
  const { url, host, port, user, server, fingerprint } = place;
  const { person } = useSession();
  const lines = [
    { name: text.host, value: host },
    { name: text.port, value: String(port) },
    { name: text.user, value: user ?? text.anyUser(server) },
    { name: text.hostKey, value: fingerprint ?? '' },
  ];
  return (
    <Card title={text.title} lead={text.lead}>
      {url !== null && (
        <div className="commands">
          <code tabIndex={0}>{url}</code>
          <CopyIcon value={url} label={text.copy} />
        </div>
      )}
      <dl className="pairs">
        {lines.map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="mono">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="dim flat">{text.hostKeyText}</p>
      {person !== null && (
        <p className="dim flat">
          {text.access} <Link to="/account">{text.account}</Link>
        </p>
      )}
    </Card>
  );
}
