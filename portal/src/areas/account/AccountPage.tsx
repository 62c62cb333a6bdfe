import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { PasskeysCard } from './PasskeysCard.tsx';
import { PasswordCard } from './PasswordCard.tsx';
import { ProfileCard } from './ProfileCard.tsx';
import { SftpCard } from './SftpCard.tsx';
import { SessionsCard } from './SessionsCard.tsx';
import { TotpCard } from './totp/TotpCard.tsx';

const text = messages.account;

/** How whoever is signed in signs in. */
export function AccountPage() {
  const { person } = useSession();
  return (
    <>
      <PageHeader title={text.title} lead={person?.email} />
      <RoleGate needs="person">
        <div className="two">
          <div className="stack">
            <ProfileCard />
            <PasswordCard />
          </div>
          <div className="stack">
            <TotpCard />
            <PasskeysCard />
            <SftpCard />
          </div>
        </div>
        <SessionsCard />
      </RoleGate>
    </>
  );
}
