-- apientidades-admin: migrations and every operation of the operator, within this one database; the triggers of
-- triggers.sql run as this user.
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, TRIGGER, CREATE VIEW, SHOW VIEW ON * TO 'apientidades_admin'@'localhost';
