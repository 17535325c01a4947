-- apientidades-admin: migrations and every operation of the operator, within this one database.
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW ON * TO 'apientidades_admin'@'localhost';
