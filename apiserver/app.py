"""The application: one ordered list of filters around one router. (Laid out first; filled in below.)"""
